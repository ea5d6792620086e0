/* SPDX-License-Identifier: MIT */
/* The names by which ROUTER and STREAM know their peers (RFC 28), and what is told of a
 * connection's ends. Law: peer->named is the sum of `unread` over peer->names, and at
 * most peer->unread, because what is left came over the present connection. (A pipe that
 * conflates drops the oldest without our knowing: the next read makes that good.) */
#include "pattern/name.h"

#include "base/alloc.h"
#include "pattern/pattern.h"

/* Octets of a name that was made up. */
#define MADE_UP_BYTES 5

static void
name_free(sni_pattern *pattern, sni_name *name)
{
    sni_link_remove(&name->link);
    sni_link_remove(&name->due);
    sennit_msg_fini(&name->identity);
    sni_release(pattern->alloc, name);
}

/* Something is to be told of it, or nothing ever will be again. */
static void
settle(sni_pattern *pattern, sni_name *name)
{
    if (name->tell != 0) {
        if (!sni_link_linked(&name->due))
            sni_list_push(&pattern->due, &name->due);
        pattern->port->noticed(pattern);
    } else if (name->ended) {
        name_free(pattern, name);
    }
}

static void
end(sni_pattern *pattern, sni_name *name)
{
    sni_link_remove(&name->link);
    name->tell |= name->tell_later;
    name->ended = true;
    settle(pattern, name);
}

/* ---- who has which ------------------------------------------------------- */

sni_peer *
sni_name_find(const sni_pattern *pattern, sennit_bytes identity)
{
    return sni_trie_find(&pattern->identities, identity);
}

/* Makes `peer` the one that has this name. A name that was given here is not taken from
 * its peer: neither what the application gave nor what was made up, which strangers
 * could guess. */
static sennit_err
claim(sni_pattern *pattern, sni_peer *peer, sennit_bytes identity, bool take)
{
    sni_peer *owner = sni_name_find(pattern, identity);
    uint32_t count;
    sennit_err err;

    if (owner == peer)
        return SENNIT_OK;
    if (owner != NULL && (!take || owner->made_up || owner->assigned))
        return SENNIT_EEXIST;
    err = sni_trie_add(&pattern->identities, identity, peer, NULL, &count);
    if (err || owner == NULL)
        return err;
    (void)sni_trie_remove(&pattern->identities, identity, owner, NULL, true, &count);
    pattern->port->disconnect(owner, false, SENNIT_EEXIST,
                              "a newer connection took over its identity");
    return SENNIT_OK;
}

static void
release(sni_pattern *pattern, sni_peer *peer)
{
    uint32_t left;

    (void)sni_trie_remove(&pattern->identities, sennit_msg_bytes(&peer->identity), peer,
                          NULL, true, &left);
}

/* A counter that starts anywhere; peers may choose such names too. */
static sennit_bytes
make_up(sni_pattern *pattern, uint8_t storage[MADE_UP_BYTES])
{
    sennit_bytes identity = sni_bytes(storage, MADE_UP_BYTES);

    storage[0] = 0;
    do {
        sni_put_u32(storage + 1, pattern->next_identity++);
    } while (sni_name_find(pattern, identity) != NULL);
    return identity;
}

/* Gives a peer its name. On failure it has none. */
static sennit_err
identify(sni_pattern *pattern, sni_peer *peer, sennit_bytes identity, bool take)
{
    sni_msg copy;
    sennit_err err = sni_pattern_copy(pattern, &copy, identity);

    if (err)
        return err;
    sennit_msg_move(&peer->identity, sni_msg_public(&copy));
    err = claim(pattern, peer, identity, take);
    if (err)
        sennit_msg_fini(&peer->identity);
    return err;
}

sennit_err
sni_name_assign(sni_pattern *pattern, sni_peer *peer)
{
    if (!peer->assigned)
        return SENNIT_OK;
    return claim(pattern, peer, sennit_msg_bytes(&peer->identity), false);
}

/* ---- connections --------------------------------------------------------- */

sennit_err
sni_name_open_unnamed(sni_pattern *pattern, sni_peer *peer)
{
    sni_name *name = sni_acquire_zero(pattern->alloc, sizeof *name);

    if (name == NULL)
        return SENNIT_ENOMEM;
    sni_link_init(&name->link);
    sni_link_init(&name->due);
    sennit_msg_init(&name->identity);
    name->number = peer->number;
    peer->name = name;
    return SENNIT_OK;
}

sennit_err
sni_name_open(sni_pattern *pattern, sni_peer *peer, sennit_bytes identity, bool take)
{
    uint8_t storage[MADE_UP_BYTES];
    sennit_err err = sni_name_open_unnamed(pattern, peer);

    if (err)
        return err;
    if (!peer->assigned) {
        peer->made_up = identity.size == 0;
        if (peer->made_up)
            identity = make_up(pattern, storage);
        err = identify(pattern, peer, identity, take);
    }
    if (err) {
        name_free(pattern, peer->name);
        peer->name = NULL;
        return err;
    }
    sennit_msg_copy(&peer->name->identity, &peer->identity);
    return SENNIT_OK;
}

void
sni_name_announce(sni_pattern *pattern, sni_peer *peer, unsigned tell)
{
    peer->name->tell |= (uint8_t)tell;
    settle(pattern, peer->name);
}

void
sni_name_succeed(sni_pattern *pattern, sni_peer *peer, unsigned tell)
{
    if (peer->name == NULL)
        return;
    peer->name->succeeded = true;
    sni_name_announce(pattern, peer, tell);
}

void
sni_name_close(sni_pattern *pattern, sni_peer *peer, unsigned tell)
{
    sni_name *name = peer->name;

    if (name == NULL)
        return;
    peer->name = NULL;
    /* An assigned name waits for the next connection, with what is queued for it. */
    if (!peer->assigned)
        release(pattern, peer);
    name->unread = peer->unread > peer->named ? peer->unread - peer->named : 0;
    name->tell_later = name->succeeded ? 0 : (uint8_t)tell;
    if (name->unread > 0 || peer->named > 0) {
        sni_list_push(&peer->names, &name->link);
        peer->named += name->unread;
    } else {
        end(pattern, name);
    }
}

/* One message of the oldest name is read, or gone. */
static void
count_down(sni_peer *peer)
{
    sni_link *first = sni_list_first(&peer->names);

    SNI_OWNER_OF(first, sni_name, link)->unread--;
    peer->named--;
    /* Those over which nothing came follow at once. */
    while (first != NULL && SNI_OWNER_OF(first, sni_name, link)->unread == 0) {
        end(peer->pattern, SNI_OWNER_OF(first, sni_name, link));
        first = sni_list_first(&peer->names);
    }
}

void
sni_name_read(sni_peer *peer)
{
    if (peer->named > 0)
        count_down(peer);
    while (peer->named > peer->unread)
        count_down(peer);
}

void
sni_name_detach(sni_pattern *pattern, sni_peer *peer)
{
    if (peer->assigned)
        release(pattern, peer);
    while (sni_list_first(&peer->names) != NULL)
        end(pattern, SNI_OWNER_OF(sni_list_first(&peer->names), sni_name, link));
    peer->named = 0;
}

void
sni_name_fini(sni_pattern *pattern)
{
    while (sni_list_first(&pattern->due) != NULL)
        name_free(pattern, SNI_OWNER_OF(sni_list_first(&pattern->due), sni_name, due));
}

/* ---- telling ------------------------------------------------------------- */

/* What is told by a bit. */
static sennit_bytes
news(const sni_pattern *pattern, unsigned bit)
{
    if (bit != SNI_TELL_LOST)
        return sni_bytes(NULL, 0);
    return pattern->type == SENNIT_DEALER ? pattern->opts->hiccup
                                          : pattern->opts->disconnected;
}

/* One thing to tell. EAGAIN: the application wants to hear of it no more. */
static sennit_err
tell(sni_pattern *pattern, sni_name *name, sni_msg *msg)
{
    unsigned bit = name->tell & -(unsigned)name->tell;
    sennit_bytes body = news(pattern, bit);
    bool named = pattern->type != SENNIT_DEALER;
    sni_msg *to = named ? &pattern->body : msg;
    sennit_err err = bit == SNI_TELL_LOST && body.size == 0
                         ? SENNIT_EAGAIN
                         : sni_pattern_copy(pattern, to, body);

    if (err == SENNIT_ENOMEM)
        return err;
    if (err == SENNIT_OK) {
        to->peer = name->number;
        pattern->has_body = named;
    }
    if (err == SENNIT_OK && named) {
        sennit_msg_copy(sni_msg_public(msg), &name->identity);
        msg->more = true;
        msg->peer = name->number;
    }
    name->tell &= (uint8_t)~bit;
    if (name->tell == 0) {
        sni_link_remove(&name->due);
        settle(pattern, name);
    }
    return err;
}

sennit_err
sni_name_tell(sni_pattern *pattern, sni_msg *msg)
{
    sennit_err err = SENNIT_EAGAIN;

    while (err == SENNIT_EAGAIN && sni_list_first(&pattern->due) != NULL)
        err = tell(pattern, SNI_OWNER_OF(sni_list_first(&pattern->due), sni_name, due),
                   msg);
    return err;
}

/* By what name the next message of a peer is received. */
static const sennit_msg *
name_of_next(const sni_peer *peer)
{
    const sni_link *first = sni_list_first(&peer->names);

    return first == NULL ? &peer->identity
                         : &SNI_CONST_OWNER_OF(first, sni_name, link)->identity;
}

sennit_err
sni_name_fetch(sni_pattern *pattern, sni_msg *msg)
{
    sni_peer *peer;
    sennit_msg name;
    sennit_err err;

    if (pattern->has_body) {
        *msg = pattern->body;
        sennit_msg_init(sni_msg_public(&pattern->body));
        pattern->has_body = false;
        return SENNIT_OK;
    }
    if (pattern->reading != NULL)
        return sni_fair_fetch(pattern, msg);
    err = sni_name_tell(pattern, msg);
    if (err != SENNIT_EAGAIN)
        return err;
    peer = sni_fair_next(pattern);
    if (peer == NULL)
        return SENNIT_EAGAIN;
    sennit_msg_init(&name);
    sennit_msg_copy(&name, name_of_next(peer)); /* reading may be its end */
    err = sni_fair_pull(pattern, &pattern->body, &peer);
    if (err) {
        sennit_msg_fini(&name);
        return err;
    }
    pattern->has_body = true;
    sennit_msg_move(sni_msg_public(msg), &name);
    msg->more = true;
    msg->peer = pattern->body.peer;
    return SENNIT_OK;
}
