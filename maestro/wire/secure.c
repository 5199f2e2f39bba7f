/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/wire/secure.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "vampire/core/values.h"

#define IDENTITY "embedded-maestro-3"
#define BINDING "EXPORTER-embedded-maestro-member"

const struct secure_key secure_open_key = {.bytes = "anyone may join this workflow"};

/* Allows ciphers of 128 bits; level 4 requires 192. */
#define SECURITY_LEVEL_MAX 3

struct secure_terms {
    SSL_CTX *context;
    BIO_METHOD *socket;
};

struct secure {
    SSL *ssl;
    const struct secure_key *key;
    int socket;
    int failure; /* failure of the socket, -errno; 0: none */
    const uint8_t *fed;
    size_t fed_bytes;
};

int secure_random(void *bytes, size_t length, struct vamp_err *err)
{
    if (getrandom(bytes, length, 0) != (ssize_t)length) {
        return vamp_err_set_errno(err, errno, "get a random number");
    }
    return 0;
}

/* ---- the key */

/* Returns NULL if out of memory. */
static SSL_SESSION *session_of(SSL *ssl)
{
    static const unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
    const struct secure *secure = SSL_get_app_data(ssl);
    SSL_SESSION *session = SSL_SESSION_new();
    if (session != NULL &&
        (SSL_SESSION_set1_master_key(session, secure->key->bytes, SECURE_KEY_BYTES) != 1 ||
         SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, aes_128_gcm_sha256)) != 1 ||
         SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1)) {
        SSL_SESSION_free(session);
        session = NULL;
    }
    return session;
}

static int offer_key(SSL *ssl, const EVP_MD *hash, const unsigned char **ret_identity,
                     size_t *ret_length, SSL_SESSION **ret_session)
{
    (void)hash; /* there is only one cipher, whose hash is that of the key */
    *ret_session = session_of(ssl);
    *ret_identity = (const unsigned char *)IDENTITY;
    *ret_length = sizeof IDENTITY - 1;
    return *ret_session != NULL;
}

static int find_key(SSL *ssl, const unsigned char *identity, size_t length,
                    SSL_SESSION **ret_session)
{
    const bool known =
        length == sizeof IDENTITY - 1 && memcmp(identity, IDENTITY, sizeof IDENTITY - 1) == 0;
    *ret_session = known ? session_of(ssl) : NULL;
    return !known || *ret_session != NULL;
}

/* ---- OpenSSL's access to the socket: reads consume fed bytes, writes never raise SIGPIPE */

static int take_fed(BIO *bio, char *bytes, int size)
{
    struct secure *secure = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (secure->fed_bytes == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    const size_t taken = VAMP_MIN(secure->fed_bytes, (size_t)size);
    memcpy(bytes, secure->fed, taken);
    secure->fed += taken;
    secure->fed_bytes -= taken;
    return (int)taken;
}

static int send_out(BIO *bio, const char *bytes, int length)
{
    struct secure *secure = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    const ssize_t sent = send(secure->socket, bytes, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS)) {
        BIO_set_retry_write(bio);
    } else if (sent < 0) {
        secure->failure = -errno;
    }
    return (int)sent;
}

static long control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

/* ---- terms */

/* Checks that the site's OpenSSL configuration (openssl.cnf, OPENSSL_CONF), which every new context
 * inherits, does not exclude the only protocol and cipher that are used. Otherwise handshakes
 * would fail as if the keys differed. */
static int check_policy(const struct secure_terms *terms, struct vamp_err *err)
{
    const int highest = (int)SSL_CTX_get_max_proto_version(terms->context);
    const int level = SSL_CTX_get_security_level(terms->context);
    if (highest != 0 && highest < TLS1_3_VERSION) {
        return vamp_err_set(err, -ENOSYS,
                            "the OpenSSL configuration of this host (openssl.cnf, OPENSSL_CONF) "
                            "excludes TLS 1.3 by MaxProtocol; processes of a workflow require it");
    }
    if (level > SECURITY_LEVEL_MAX) {
        return vamp_err_set(
            err, -ENOSYS,
            "the OpenSSL configuration of this host (openssl.cnf, OPENSSL_CONF) has "
            "SECLEVEL=%d; processes of a workflow use TLS_AES_128_GCM_SHA256, which "
            "requires a SECLEVEL of at most %d",
            level, SECURITY_LEVEL_MAX);
    }
    return 0;
}

int secure_terms_open(struct secure_terms **ret_terms, struct vamp_err *err)
{
    struct secure_terms *terms = calloc(1, sizeof *terms);
    if (terms == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "set up TLS");
    }
    terms->context = SSL_CTX_new(TLS_method());
    terms->socket = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    if (terms->context == NULL || terms->socket == NULL ||
        SSL_CTX_set_min_proto_version(terms->context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(terms->context, "TLS_AES_128_GCM_SHA256") != 1 ||
        SSL_CTX_set_num_tickets(terms->context, 0) != 1 ||
        BIO_meth_set_read(terms->socket, take_fed) != 1 ||
        BIO_meth_set_write(terms->socket, send_out) != 1 ||
        BIO_meth_set_ctrl(terms->socket, control) != 1) {
        ERR_clear_error();
        secure_terms_close(terms);
        return vamp_err_set(err, -ENOSYS, "OpenSSL of this system cannot speak TLS 1.3");
    }
    const int code = check_policy(terms, err);
    if (code != 0) {
        secure_terms_close(terms);
        return code;
    }
    (void)SSL_CTX_set_session_cache_mode(terms->context, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_mode(terms->context,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_psk_use_session_callback(terms->context, offer_key);
    SSL_CTX_set_psk_find_session_callback(terms->context, find_key);
    *ret_terms = terms;
    return 0;
}

void secure_terms_close(struct secure_terms *terms)
{
    if (terms != NULL) {
        SSL_CTX_free(terms->context);
        BIO_meth_free(terms->socket);
        free(terms);
    }
}

/* ---- connections */

int secure_open(struct secure_terms *terms, const struct secure_key *key, int socket, bool accepts,
                struct secure **ret_secure)
{
    struct secure *secure = calloc(1, sizeof *secure);
    SSL *ssl = SSL_new(terms->context);
    BIO *bio = BIO_new(terms->socket);
    if (secure == NULL || ssl == NULL || bio == NULL) {
        (void)BIO_free(bio);
        SSL_free(ssl);
        free(secure);
        return -ENOMEM;
    }
    BIO_set_data(bio, secure);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    (void)SSL_set_app_data(ssl, secure);
    if (accepts) {
        SSL_set_accept_state(ssl);
    } else {
        SSL_set_connect_state(ssl);
    }
    *secure = (struct secure){.ssl = ssl, .key = key, .socket = socket};
    *ret_secure = secure;
    return 0;
}

void secure_close(struct secure *secure)
{
    if (secure != NULL) {
        SSL_free(secure->ssl);
        free(secure);
    }
}

void secure_feed(struct secure *secure, const uint8_t *bytes, size_t length)
{
    secure->fed = bytes;
    secure->fed_bytes = length;
}

/* Returns the reason for a failed call: -EAGAIN if it waits for the socket, the socket's failure,
 * or else `broken`. */
static int reason(struct secure *secure, bool waits, int broken)
{
    if (waits && secure->failure == 0) {
        return -EAGAIN;
    }
    ERR_clear_error();
    return secure->failure != 0 ? secure->failure : broken;
}

int secure_handshake(struct secure *secure)
{
    ERR_clear_error(); /* errors left by other users of OpenSSL in this thread */
    const int result = SSL_do_handshake(secure->ssl);
    const int why = SSL_get_error(secure->ssl, result);
    if (result == 1) {
        return 0;
    }
    return reason(secure, why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE, -EKEYREJECTED);
}

/* Here and below SSL_get_error is not used: it requires an empty error queue before each call,
 * which costs a tenth of a record. */
ssize_t secure_read(struct secure *secure, uint8_t *bytes, size_t size)
{
    size_t got = 0;
    if (secure->fed_bytes == 0 && SSL_has_pending(secure->ssl) == 0) {
        return -EAGAIN; /* a call of OpenSSL to detect this costs half a record */
    }
    if (SSL_read_ex(secure->ssl, bytes, size, &got) == 1) {
        return (ssize_t)got;
    }
    const bool ended = (SSL_get_shutdown(secure->ssl) & SSL_RECEIVED_SHUTDOWN) != 0;
    return reason(secure, SSL_want_read(secure->ssl), ended ? -ECONNRESET : -EBADMSG);
}

ssize_t secure_write(struct secure *secure, const uint8_t *bytes, size_t length)
{
    size_t taken = 0;
    if (SSL_write_ex(secure->ssl, bytes, length, &taken) != 1) {
        return reason(secure, SSL_want_write(secure->ssl), -EIO);
    }
    return (ssize_t)taken;
}

int secure_bind(struct secure *secure, struct secure_binding *ret_binding)
{
    if (SSL_export_keying_material(secure->ssl, ret_binding->bytes, sizeof ret_binding->bytes,
                                   BINDING, sizeof BINDING - 1, NULL, 0, 0) != 1) {
        return -EPROTO;
    }
    return 0;
}
