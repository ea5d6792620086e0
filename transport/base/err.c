/* SPDX-License-Identifier: MIT */
#include "sennit/sennit.h"

#ifndef SENNIT_VERSION
#error "SENNIT_VERSION comes from project(VERSION) in CMakeLists.txt"
#endif

const char *
sennit_version(void)
{
    return SENNIT_VERSION;
}

const char *
sennit_err_text(sennit_err err)
{
    switch (err) {
#define X(name, value, text)                                                             \
    case SENNIT_##name:                                                                  \
        return text;
        SENNIT_ERR_TABLE(X)
#undef X
    }
    return "unknown error";
}

const char *
sennit_err_name(sennit_err err)
{
    switch (err) {
#define X(name, value, text)                                                             \
    case SENNIT_##name:                                                                  \
        return #name;
        SENNIT_ERR_TABLE(X)
#undef X
    }
    return "?";
}
