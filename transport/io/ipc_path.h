/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_IO_IPC_PATH_H
#define SENNIT_IO_IPC_PATH_H

#include <sys/socket.h>
#include <sys/stat.h>

#include "io/io.h"

/* Paths of unix sockets: who may take one, and who removes it. A file that nobody
 * listens behind is taken over, a live one never, and what is no socket is left alone.
 *
 * Between looking and taking, another process could do the same. So whoever takes or
 * removes a path holds a lock on its directory meanwhile, which leaves nothing behind
 * and ends with the process. Where the directory may not be read there is no lock, and
 * then nothing is taken over either. */

/* Binds and listens; `*st` is the file. `mode` -1: permissions by the umask.
 * Errors: EADDRINUSE, EACCES, ENOENT, ENOMEM, ENOTSUP (the mode), EIO. */
sennit_err sni_ipc_path_listen(int fd, const char *path, const struct sockaddr *address,
                               socklen_t size, int mode, int backlog, struct stat *st,
                               const char **why);

/* What a path is relative to now, which may be another directory when it is removed.
 * -1: errno says why there is none. */
int sni_ipc_path_base(const char *path);
void sni_ipc_path_base_close(int base);

/* Removes the file, if it is still this one. `base`: of it when it was taken. */
void sni_ipc_path_remove(int base, const char *path, dev_t dev, ino_t ino);

/* A fresh path in a directory of its own, where nobody can take the name; whoever may
 * connect by `mode` may enter it. Errors: ENAMETOOLONG, EACCES, ENOENT, EIO. */
sennit_err sni_ipc_path_make(char path[SNI_IPC_PATH_MAX + 1], uint8_t *size, int mode);

/* Removes that directory. */
void sni_ipc_path_unmake(const char *path);

#endif /* SENNIT_IO_IPC_PATH_H */
