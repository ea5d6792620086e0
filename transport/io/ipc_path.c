/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE

#include "io/ipc_path.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/stream.h"

/* Whoever else holds the lock does so for some system calls only. Beyond this it is
 * held by something that is not us, and bind does not wait for that. */
#define LOCK_TRIES_MAX 1000

/* Linux 6.6; older headers do not know it. */
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

/* ---- the lock ---------------------------------------------------------- */

static int
open_directory(int at, const char *path)
{
    char directory[SNI_IPC_PATH_MAX + 1];
    const char *slash = strrchr(path, '/');
    size_t size = slash == NULL ? 0 : (size_t)(slash - path);

    if (slash == NULL)
        return openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (size == 0)
        return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    memcpy(directory, path, size);
    directory[size] = '\0';
    return openat(at, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The locked directory, or -1; closing it unlocks. */
static int
lock_directory(int at, const char *path)
{
    int fd = open_directory(at, path);

    if (fd < 0)
        return -1;
    for (int i = 0; i < LOCK_TRIES_MAX; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return fd;
        if (errno != EWOULDBLOCK && errno != EINTR)
            break;
        sched_yield();
    }
    close(fd);
    return -1;
}

static void
unlock_directory(int fd)
{
    if (fd >= 0)
        close(fd);
}

int
sni_ipc_path_base(const char *path)
{
    return path[0] == '/' ? AT_FDCWD : open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void
sni_ipc_path_base_close(int base)
{
    if (base != AT_FDCWD)
        close(base);
}

/* ---- taking ------------------------------------------------------------ */

/* Whether what is at `path` itself, not behind a link, is a socket. */
static bool
is_socket(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* Whether the socket file that `address` names has nobody behind it. A datagram socket
 * asks: a stream socket that is alive refuses it for its type, and hears nothing of it.
 */
static bool
is_stale(const struct sockaddr *address, socklen_t size)
{
    bool stale;
    int fd;

    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    stale = connect(fd, address, size) != 0 && errno == ECONNREFUSED;
    close(fd);
    return stale;
}

static sennit_err
take(int fd, const char *path, const struct sockaddr *address, socklen_t size,
     bool locked, const char **why)
{
    if (bind(fd, address, size) == 0)
        return SENNIT_OK;
    if (errno == ENOENT || errno == ENOTDIR)
        *why = "the directory of the path is not there";
    if (errno != EADDRINUSE)
        return sni_err_of_errno(errno);
    if (!is_socket(path)) {
        *why = "a file that is no socket has this path: it is left alone";
        return SENNIT_EADDRINUSE;
    }
    if (!is_stale(address, size)) {
        *why = "somebody listens on this path";
        return SENNIT_EADDRINUSE;
    }
    if (!locked) {
        *why = "a stale socket is there, and its directory could not be locked";
        return SENNIT_EADDRINUSE;
    }
    if (unlink(path) != 0)
        return sni_err_of_errno(errno);
    return bind(fd, address, size) == 0 ? SENNIT_OK : sni_err_of_errno(errno);
}

/* The file was made with the mode less the umask's bits. What has taken its path since is
 * not ours to change, so a link is not followed. Before Linux 6.6 the C library goes
 * through /proc for that, and one that is older than it does so still. */
static sennit_err
give_mode(const char *path, const struct stat *st, mode_t mode, const char **why)
{
    if ((st->st_mode & 07777) == mode ||
        fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW) == 0)
        return SENNIT_OK;
    if (errno == EOPNOTSUPP &&
        syscall(SYS_fchmodat2, AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW) == 0)
        return SENNIT_OK;
    if (errno == ENOSYS) {
        *why = "ipc_mode needs /proc before Linux 6.6: mount it, or set it by the umask";
        return SENNIT_ENOTSUP;
    }
    *why = "ipc_mode was refused by the system";
    return sni_err_of_errno(errno);
}

sennit_err
sni_ipc_path_listen(int fd, const char *path, const struct sockaddr *address,
                    socklen_t size, int mode, int backlog, struct stat *st,
                    const char **why)
{
    int directory = lock_directory(AT_FDCWD, path);
    sennit_err err;

    if (mode >= 0)
        (void)fchmod(fd, (mode_t)mode);
    err = take(fd, path, address, size, directory >= 0, why);
    if (err == SENNIT_OK) {
        /* Nobody can connect before it listens, so nobody slips in before that. */
        if (lstat(path, st) != 0 || !S_ISSOCK(st->st_mode)) {
            *why = "somebody else took the path at the same time";
            err = SENNIT_EADDRINUSE;
        } else {
            if (mode >= 0)
                err = give_mode(path, st, (mode_t)mode, why);
            if (err == SENNIT_OK && listen(fd, backlog) != 0)
                err = sni_err_of_errno(errno);
        }
        if (err && err != SENNIT_EADDRINUSE)
            (void)unlink(path);
    }
    unlock_directory(directory);
    return err;
}

void
sni_ipc_path_remove(int base, const char *path, dev_t dev, ino_t ino)
{
    int directory = lock_directory(base, path);
    struct stat st;

    if (fstatat(base, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == dev &&
        st.st_ino == ino)
        (void)unlinkat(base, path, 0);
    unlock_directory(directory);
}

/* ---- wildcards --------------------------------------------------------- */

sennit_err
sni_ipc_path_make(char path[SNI_IPC_PATH_MAX + 1], uint8_t *size, int mode)
{
    const char *base = getenv("TMPDIR");
    int length = snprintf(path, SNI_IPC_PATH_MAX + 1, "%s/sennit-XXXXXX",
                          base != NULL && base[0] == '/' ? base : "/tmp");
    mode_t enter = 0700;

    if (length < 0 || (size_t)length + sizeof "/socket" > SNI_IPC_PATH_MAX + 1)
        return SENNIT_ENAMETOOLONG;
    if (mkdtemp(path) == NULL)
        return sni_err_of_errno(errno);
    if (mode >= 0)
        enter |= (mode & 0020 ? 0010u : 0) | (mode & 0002 ? 0001u : 0);
    if (enter != 0700 && chmod(path, enter) != 0) {
        sennit_err err = sni_err_of_errno(errno);

        (void)rmdir(path);
        return err;
    }
    memcpy(path + length, "/socket", sizeof "/socket");
    *size = (uint8_t)((size_t)length + sizeof "/socket" - 1);
    return SENNIT_OK;
}

void
sni_ipc_path_unmake(const char *path)
{
    char directory[SNI_IPC_PATH_MAX + 1];
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        return;
    memcpy(directory, path, (size_t)(slash - path));
    directory[slash - path] = '\0';
    (void)rmdir(directory);
}
