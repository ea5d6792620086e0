/* SPDX-License-Identifier: MIT */
#include "runner.h"

int
main(int argc, char **argv)
{
    return runner_main(argc, argv, 24);
}
