// calls PROGRAM [ARGUMENT ...]: runs it as on Linux 4.18. Calls that came later do not exist (ENOSYS), and prctl(2) does not
// know PR_GET_AUXV, which came with 6.4 (EINVAL).
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { LAST = 334, PRCTL = 157 }; // rseq
#elif defined(__aarch64__)
enum { LAST = 293, PRCTL = 167 }; // rseq
#endif
enum { GET_AUXV = 0x41555856 };

int main(int argc, char **argv) {
  (void)argc;
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LAST, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PRCTL, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GET_AUXV, 2, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
  };
  struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
    perror("calls");
    return 1;
  }
  execvp(argv[1], argv + 1);
  perror(argv[1]);
  return 127;
}
