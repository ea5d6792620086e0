/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_BASE_LIST_H
#define SENNIT_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* An intrusive ring. The head is a link too; a link that is in no list points at
 * itself, so removing twice is harmless and membership is one comparison. */
typedef struct sni_link {
    struct sni_link *next;
    struct sni_link *prev;
} sni_link;

/* The struct that embeds `link` as `member`. */
#define SNI_OWNER_OF(link, type, member)                                                 \
    ((type *)(void *)((char *)(link)-offsetof(type, member)))

#define SNI_CONST_OWNER_OF(link, type, member)                                           \
    ((const type *)(const void *)((const char *)(link)-offsetof(type, member)))

static inline void
sni_link_init(sni_link *link)
{
    link->next = link;
    link->prev = link;
}

static inline bool
sni_link_linked(const sni_link *link)
{
    return link->next != link;
}

static inline bool
sni_list_empty(const sni_link *head)
{
    return head->next == head;
}

static inline void
sni_list_push(sni_link *head, sni_link *link)
{
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

static inline void
sni_link_remove(sni_link *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    sni_link_init(link);
}

/* Moves the links of `from` to another head, so that what is added meanwhile is not among
 * them. */
static inline void
sni_list_take(sni_link *to, sni_link *from)
{
    sni_link_init(to);
    if (sni_list_empty(from))
        return;
    *to = *from;
    to->next->prev = to;
    to->prev->next = to;
    sni_link_init(from);
}

/* The first link, or NULL. */
static inline sni_link *
sni_list_first(const sni_link *head)
{
    return head->next == head ? NULL : head->next;
}

#endif /* SENNIT_BASE_LIST_H */
