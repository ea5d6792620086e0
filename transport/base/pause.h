/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_PAUSE_H
#define SENNIT_BASE_PAUSE_H

/* Tells the processor that this thread looks again and again at what another one writes:
 * it takes a few dozen cycles over it, and power. Nothing where it cannot be told. */
static inline void
sni_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif /* SENNIT_BASE_PAUSE_H */
