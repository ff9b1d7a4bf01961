// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A memory controller without memory, for the guests of the tests: two labelled modules that EDAC counts errors of.
 *
 *	echo 0 >/sys/module/faulty_memory/parameters/corrected		one corrected error of DIMM_A1
 *	echo 1 >/sys/module/faulty_memory/parameters/uncorrected	one uncorrected error of DIMM_B1
 */
#include <linux/edac.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/platform_device.h>

/* EDAC's own header (drivers/edac/edac_mc.h) is not among those that distributions ship: what we call of it. */
struct mem_ctl_info *edac_mc_alloc(unsigned int number, unsigned int layer_count, struct edac_mc_layer *layers,
				   unsigned int private_size);
void edac_mc_free(struct mem_ctl_info *controller);
int edac_mc_add_mc_with_groups(struct mem_ctl_info *controller, const struct attribute_group **groups);
struct mem_ctl_info *edac_mc_del_mc(struct device *device);
void edac_mc_handle_error(const enum hw_event_mc_err_type type, struct mem_ctl_info *controller, const u16 count,
			  const unsigned long page, const unsigned long offset, const unsigned long syndrome,
			  const int top_layer, const int middle_layer, const int lowest_layer, const char *message,
			  const char *detail);

static const char *const labels[] = { "DIMM_A1", "DIMM_B1" };

static struct platform_device *device;
static struct mem_ctl_info *controller;

static int report(const char *text, enum hw_event_mc_err_type type)
{
	unsigned int module;
	int failed = kstrtouint(text, 0, &module);

	if (failed)
		return failed;
	if (!controller || module >= ARRAY_SIZE(labels))
		return -EINVAL;
	/* One layer, the slot: the others are not known. */
	edac_mc_handle_error(type, controller, 1, 0x1234, 0x40, 0, module, -1, -1, "memory read error", "");
	return 0;
}

static int set_corrected(const char *text, const struct kernel_param *parameter)
{
	return report(text, HW_EVENT_ERR_CORRECTED);
}

static int set_uncorrected(const char *text, const struct kernel_param *parameter)
{
	return report(text, HW_EVENT_ERR_UNCORRECTED);
}

static const struct kernel_param_ops corrected = { .set = set_corrected };
static const struct kernel_param_ops uncorrected = { .set = set_uncorrected };

module_param_cb(corrected, &corrected, NULL, 0200);
module_param_cb(uncorrected, &uncorrected, NULL, 0200);

static void describe_modules(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(labels); i++) {
		struct dimm_info *module = controller->dimms[i];

		/* A module without pages is an empty slot, which EDAC does not show. */
		module->nr_pages = 1 << 16;
		module->grain = 64;
		module->mtype = MEM_DDR4;
		module->dtype = DEV_X8;
		module->edac_mode = EDAC_SECDED;
		strscpy(module->label, labels[i], sizeof(module->label));
	}
}

static struct mem_ctl_info *make_controller(struct device *parent)
{
	struct edac_mc_layer slots = {
		.type = EDAC_MC_LAYER_SLOT, .size = ARRAY_SIZE(labels), .is_virt_csrow = true,
	};
	struct mem_ctl_info *made = edac_mc_alloc(0, 1, &slots, 0);

	if (!made)
		return NULL;
	made->pdev = parent;
	made->mod_name = KBUILD_MODNAME;
	made->ctl_name = "faulty memory";
	made->dev_name = dev_name(parent);
	made->mtype_cap = MEM_FLAG_DDR4;
	made->edac_ctl_cap = EDAC_FLAG_SECDED;
	made->edac_cap = EDAC_FLAG_SECDED;
	return made;
}

static int __init begin(void)
{
	int failed = -ENOMEM;

	device = platform_device_register_simple(KBUILD_MODNAME, PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	controller = make_controller(&device->dev);
	if (!controller)
		goto no_controller;
	describe_modules();
	failed = edac_mc_add_mc_with_groups(controller, NULL);
	if (!failed)
		return 0;
	edac_mc_free(controller);
	controller = NULL;
no_controller:
	platform_device_unregister(device);
	return failed;
}

static void __exit end(void)
{
	edac_mc_del_mc(&device->dev);
	edac_mc_free(controller);
	platform_device_unregister(device);
}

module_init(begin);
module_exit(end);

MODULE_DESCRIPTION("a memory controller that fails on request");
MODULE_LICENSE("Dual MIT/GPL");
