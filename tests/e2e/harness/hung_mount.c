/* Loaded into a program before its C library: while a marker file exists, every call that names a path below one folder waits, as on
 * a mount whose server is gone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_for_mount(const char *path) {
  const char *mount = getenv("TOLLGATE_TEST_MOUNT"), *marker = getenv("TOLLGATE_TEST_HANG");
  if (!path || !mount || !marker || strncmp(path, mount, strlen(mount)) != 0) return;
  while (syscall(SYS_faccessat, AT_FDCWD, marker, F_OK) == 0) {
    struct timespec tick = {.tv_nsec = 5000000};
    nanosleep(&tick, NULL);
  }
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  wait_for_mount(path);
  return NEXT(open64)(path, flags, mode);
}

int statx(int folder, const char *restrict path, int flags, unsigned mask, struct statx *restrict found) {
  wait_for_mount(path);
  return NEXT(statx)(folder, path, flags, mask, found);
}

int mkdir(const char *path, mode_t mode) {
  wait_for_mount(path);
  return NEXT(mkdir)(path, mode);
}

int unlink(const char *path) {
  wait_for_mount(path);
  return NEXT(unlink)(path);
}

int rename(const char *from, const char *to) {
  wait_for_mount(from);
  return NEXT(rename)(from, to);
}
