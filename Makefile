# The two commands of the README are `make run` and `make test`; the rest is for maintainers.
.DEFAULT_GOAL := help
SHELL := /bin/bash
CARGO ?= cargo
ARGS ?=
DEB_PROFILE ?= release
# A cold build is a sixth sooner without the caches of incremental builds. One setting for all that make builds, so that no
# command compiles again what another has; who edits says CARGO_INCREMENTAL=1, and a touched crate takes a third of the time.
export CARGO_INCREMENTAL ?= 0
# Every quick build selects the whole workspace, and some of its targets: so cargo sees one set of features, and what one
# command has compiled no other compiles again. Packages and benches are built of their own crates' features alone.
PROGRAMS := --workspace --bin nodewelld --bin nodewell-checks --bin nodewell --bin nodewell-controller --bin kubectl-nodewell
PACKAGES := --package nodewell-agent --package nodewell-controller --package nodewell-kubectl --bins

.PHONY: help run build test lint unit whole cluster soak vm e2e scale field fuzz mutants bench book reference deps deb rpm packages \
  kubectl release

help: ## list what make can do
	@grep -hE '^[a-z0-9]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: toolchain ## build nodewelld and watch this machine with it (needs no cluster)
	@[ -x target/debug/nodewelld ] || echo "Building nodewell; the first build takes some four minutes on two cores." >&2
	@$(CARGO) build --workspace --bin nodewelld --bin nodewell-checks --bin nodewell
	@exec packaging/run $(ARGS)

build: toolchain ## build all programs, optimised
	$(CARGO) build --release $(PACKAGES)

test: toolchain deps compiled ## everything that must pass before a change lands
	@+failed=0; $(MAKE) --no-print-directory clippy || failed=1; \
	  $(MAKE) --no-print-directory --jobs=4 --output-sync=target format words licences quick || failed=1; \
	  echo "BMCs and whole-program tests run side by side; each prints its output at its end."; \
	  $(MAKE) --no-print-directory --jobs=2 --output-sync=target waiting whole || failed=1; \
	  exit $$failed

# All at once, before anything runs: compilers and tests that wait for deadlines do not mix. Clippy comes next, alone: while
# it checks, tests that build a package or a library wait for its lock on the target directory.
compiled:
	$(CARGO) test --workspace --locked --no-run
	$(CARGO) build $(PROGRAMS) --locked
.PHONY: compiled quick waiting

lint: format words clippy licences
format:
	$(CARGO) fmt --all --check
clippy:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
words:
	@packaging/lint/words
	@packaging/lint/examples
	@packaging/lint/files
	@if command -v python3 >/dev/null; then packaging/lint/cluster && packaging/lint/ansible && packaging/lint/book; \
	  else echo "SKIP packaging/lint/cluster packaging/lint/ansible packaging/lint/book: need python3" >&2; fi
	@packaging/lint/changelog
	@packaging/lint/alerts
	@packaging/lint/fuzz
	@packaging/lint/hidden
licences:
	@packaging/licences
	@packaging/advisories
.PHONY: format words clippy licences

HARNESSES := --exclude nodewell-tests --exclude nodewell-cluster --exclude nodewell-vm
UNITS := $(CARGO) test --workspace $(HARNESSES) --locked --no-fail-fast
unit: ## unit and property tests
	$(UNITS)

# The same in two halves: what computes, and what mostly waits (for BMCs that answer late, for a real API server, for a node
# to be fenced). `make e2e` plays more stories of the simulation, optimised.
quick:
	NODEWELL_SIM_SEEDS=$${NODEWELL_SIM_SEEDS:-60} $(UNITS) -- --skip bmc/ --skip cluster/
waiting:
	$(CARGO) test --workspace --test bmcs --test cluster --test real_cluster --locked --no-fail-fast

whole: ## whole-program tests: the real binaries against the real thing
	$(CARGO) build $(PROGRAMS) --locked
	$(CARGO) test --workspace --test whole --locked --no-fail-fast

# What is up is asked and ordered by the program that is there: a plug is not pulled a build later.
cluster: toolchain ## a real small Kubernetes cluster with nodewell on this machine (ARGS=down; ARGS=--help: all commands)
	@case "$(firstword $(ARGS))" in "" | up | -*) $(MAKE) --no-print-directory ARGS= cluster-programs ;; esac
	@target/debug/nodewell-cluster $(ARGS)
cluster-programs: deps
	$(CARGO) build $(PROGRAMS) --bin nodewell-pages --bin nodewell-cluster --locked
.PHONY: cluster-programs

soak: toolchain cluster-programs ## plant faults in a real cluster, one after another for three hours, and judge each act (ARGS="--faults 10"; ARGS=--help)
	@target/debug/nodewell-cluster soak $(ARGS)

vm: toolchain deps ## all cases in virtual machines: faults of real kernels (docs/virtual-machines.md)
	$(CARGO) build $(PROGRAMS) --locked
	@packaging/test-packages $(GUEST_PACKAGES)
	NODEWELL_LONG=1 $(CARGO) test --workspace --test guests --locked -- $(ARGS)

e2e: toolchain deps ## the long proofs, with a table at the end (ARGS="simulation guards": these only)
	@packaging/test-packages $(GUEST_PACKAGES) $(CLUSTER_PACKAGES) $(PACKAGE_TOOLS) $(RELEASE_TOOLS)
	@+MAKE=$(MAKE) tests/e2e $(ARGS)

scale: toolchain ## what 15,000 agents cost one API server, as a table (docs/scale.md)
	$(CARGO) run --release --locked -p nodewell-scale -- $(ARGS)

field: toolchain ## what the rules find of labelled logs of real faults (FIELD_CAPTURES=DIR)
	@[ -n "$(FIELD_CAPTURES)" ] || { echo "make field: FIELD_CAPTURES names no folder with expect.tsv and cases/" >&2; exit 64; }
	@$(CARGO) build --quiet --workspace --bin field --locked
	@$${CARGO_TARGET_DIR:-target}/debug/field --disputed tests/field/disputed.tsv $(ARGS) "$(FIELD_CAPTURES)"

FUZZ_SECONDS ?= 60
fuzz: toolchain ## fuzz each parser for FUZZ_SECONDS=60 (a nightly compiler and cargo-fuzz are installed)
	tests/fuzz/run $(FUZZ_SECONDS) $(ARGS)

mutants: toolchain ## edit the code before irreversible acts, and see each edit caught (ARGS="--shard 0/20"; cargo-mutants is installed)
	tests/mutants/run $(ARGS)

bench: toolchain deps ## measure, and print a table with medians next to each target
	$(CARGO) build --profile dist --package nodewell-agent --bins --locked
	$(CARGO) build --profile dist --package nodewell-controller --bins --locked
	$(CARGO) run --release --locked -p nodewell-bench -- $(ARGS)

book: toolchain ## the pages of docs/ as a book with a search, in target/book (mdbook is installed)
	@PATH="$(CURDIR)/target/tools/bin:$$PATH"; \
	  { command -v mdbook >/dev/null || $(CARGO) install mdbook --version '^0.4' --locked --root target/tools; } && mdbook build

# What tests of packaging/pages and packaging/lint/book compare with the programs. A page that cannot be made stays as it is.
reference: toolchain ## write again what is made of the programs: docs/reference, the packages' configurations, their schemas
	$(CARGO) build --workspace --bin nodewell-pages --locked
	@set -e; write() { "$${@:2}" >"$$1.new" && mv "$$1.new" "$$1"; }; pages=target/debug/nodewell-pages; \
	  for page in cli conditions messages metrics rules socket; do write docs/reference/$$page.md $$pages $$page; done; \
	  write docs/reference/configuration.md $$pages reference; \
	  write docs/reference/crds.md packaging/lint/book --crds; \
	  write packaging/nodewell.toml $$pages config; \
	  write packaging/nodewell-controller.toml $$pages controller-config; \
	  write packaging/schema/nodewell.schema.json $$pages schema; \
	  write packaging/schema/nodewell-controller.schema.json $$pages controller-schema

deb: toolchain ## Debian packages of this machine's build, in target/packages (DEB_PROFILE=dev: quick ones for tests)
	@PROFILE=$(DEB_PROFILE) packaging/build deb

rpm: toolchain ## the same as rpm packages
	@PROFILE=$(DEB_PROFILE) packaging/build rpm

packages: toolchain ## both, for glibc 2.28 and later, x86-64 and arm64, looked over by lintian and rpmlint
	@packaging/dist
	@packaging/lint/check $(TO)

kubectl: toolchain ## kubectl-nodewell as one static program, x86-64 and arm64, with krew's manifest, in target/packages
	@packaging/kubectl/archive

release: toolchain ## all of a release, in target/publish: packages, tarballs, system extensions, repositories, sums (docs/release.md)
	@packaging/test-packages $(RELEASE_TOOLS)
	@packaging/release/all $(ARGS)

# Debian packages that the tests use; without root, or on another system, what needs them is skipped by name.
DEBIAN_PACKAGES := systemd systemd-journal-remote systemd-container mmdebstrap python3-venv \
  dpkg-dev gnupg e2fsprogs xz-utils iproute2 containerd prometheus prometheus-alertmanager \
  fence-agents openipmi ipmitool snmp
# What virtual machines need besides.
GUEST_PACKAGES := qemu-system-x86 nbdkit busybox-static dmsetup mdadm
# What some long cases of the real cluster need besides.
CLUSTER_PACKAGES := haproxy
# What looks packages over, and installs them.
PACKAGE_TOOLS := lintian rpm rpmlint dnf
# What makes repositories, images and signatures.
RELEASE_TOOLS := dpkg-dev createrepo-c squashfs-tools gnupg rpm python3-venv binutils mmdebstrap
deps:
	@packaging/test-packages $(DEBIAN_PACKAGES)

toolchain:
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install Rust with rustup (https://rustup.rs)" >&2; exit 1; }
	@needs=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) has=$$($(CARGO) --version | cut -d' ' -f2); \
	  [ "$$(printf '%s\n' "$$needs" "$${has:-0}" | sort -V | head -1)" = "$$needs" ] || \
	  { echo "cargo is $${has:-without a version}, and nodewell needs Rust $$needs: install that with rustup (https://rustup.rs)" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "a C compiler is missing: apt-get install gcc libc6-dev" >&2; exit 1; }
.PHONY: toolchain
