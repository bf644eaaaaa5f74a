/* Random numbers of the simulation, and AES-GCM in Rust, where packets are seen before they are sealed. */

#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "uECC.h"

#define TAG_LENGTH 16
#define MASK_LENGTH 5

/* In the place of picotls' lib/cifra/random.c, which is left out: keys, connection ids, nonces. */
void ptls_minicrypto_random_bytes(void *bytes, size_t length)
{
    skyhop_rs_random(bytes, length);
}

static int random_for_ecc(uint8_t *bytes, unsigned length)
{
    skyhop_rs_random(bytes, length);
    return 1;
}

typedef struct {
    ptls_aead_context_t super;
    void *key;
    uint8_t iv[PTLS_AESGCM_IV_SIZE];
} aead;

static void aead_dispose(ptls_aead_context_t *context)
{
    skyhop_rs_key_free(((aead *)context)->key);
}

static void aead_get_iv(ptls_aead_context_t *context, void *iv)
{
    memcpy(iv, ((aead *)context)->iv, PTLS_AESGCM_IV_SIZE);
}

static void aead_set_iv(ptls_aead_context_t *context, const void *iv)
{
    memcpy(((aead *)context)->iv, iv, PTLS_AESGCM_IV_SIZE);
}

static void aead_encrypt(ptls_aead_context_t *context, void *output, const void *input, size_t length, uint64_t number,
                         const void *header, size_t header_length, ptls_aead_supplementary_encryption_t *supplement)
{
    aead *self = (aead *)context;
    uint8_t nonce[PTLS_AESGCM_IV_SIZE];
    ptls_aead__build_iv(self->super.algo, nonce, self->iv, number);
    if (output != input) {
        memmove(output, input, length);
    }
    skyhop_rs_seal(self->key, nonce, number, header, header_length, output, length);
    if (supplement != NULL) {
        ptls_cipher_init(supplement->ctx, supplement->input);
        memset(supplement->output, 0, sizeof(supplement->output));
        ptls_cipher_encrypt(supplement->ctx, supplement->output, supplement->output, sizeof(supplement->output));
    }
}

static void aead_encrypt_v(ptls_aead_context_t *context, void *output, ptls_iovec_t *input, size_t count,
                           uint64_t number, const void *header, size_t header_length)
{
    uint8_t *end = output;
    for (size_t i = 0; i < count; i++) {
        memmove(end, input[i].base, input[i].len);
        end += input[i].len;
    }
    aead_encrypt(context, output, output, (size_t)(end - (uint8_t *)output), number, header, header_length, NULL);
}

static size_t aead_decrypt(ptls_aead_context_t *context, void *output, const void *input, size_t length,
                           uint64_t number, const void *header, size_t header_length)
{
    aead *self = (aead *)context;
    uint8_t nonce[PTLS_AESGCM_IV_SIZE];
    uint8_t stack[PICOQUIC_MAX_PACKET_SIZE];
    uint8_t *work = stack;
    int opened;
    if (length < TAG_LENGTH) {
        return SIZE_MAX;
    }
    ptls_aead__build_iv(self->super.algo, nonce, self->iv, number);
    /* Not in the output, which need not have room for the tag. */
    if (length > sizeof(stack) && (work = malloc(length)) == NULL) {
        return SIZE_MAX;
    }
    memcpy(work, input, length);
    opened = skyhop_rs_open(self->key, nonce, number, header, header_length, work, length);
    if (opened) {
        memcpy(output, work, length - TAG_LENGTH);
    }
    if (work != stack) {
        free(work);
    }
    return opened ? length - TAG_LENGTH : SIZE_MAX;
}

static int aead_setup(ptls_aead_context_t *context, int is_encryption, const void *key, const void *iv)
{
    aead *self = (aead *)context;
    (void)is_encryption;
    self->super.dispose_crypto = aead_dispose;
    self->super.do_get_iv = aead_get_iv;
    self->super.do_set_iv = aead_set_iv;
    self->super.do_encrypt_init = NULL;
    self->super.do_encrypt_update = NULL;
    self->super.do_encrypt_final = NULL;
    self->super.do_encrypt = aead_encrypt;
    self->super.do_encrypt_v = aead_encrypt_v;
    self->super.do_decrypt = aead_decrypt;
    memcpy(self->iv, iv, PTLS_AESGCM_IV_SIZE);
    self->key = skyhop_rs_key(key, self->super.algo->key_size);
    return self->key == NULL ? PTLS_ERROR_LIBRARY : 0;
}

/* The cipher that masks headers (RFC 9001, section 5.4.3): five bytes of one block. picotls' own is byte by byte in C,
 * and took half of the time of a run. */
typedef struct {
    ptls_cipher_context_t super;
    void *key;
    uint8_t sample[PTLS_AES_BLOCK_SIZE];
} header_mask;

static void mask_dispose(ptls_cipher_context_t *context)
{
    skyhop_rs_mask_key_free(((header_mask *)context)->key);
}

static void mask_init(ptls_cipher_context_t *context, const void *sample)
{
    memcpy(((header_mask *)context)->sample, sample, PTLS_AES_BLOCK_SIZE);
}

static void mask_transform(ptls_cipher_context_t *context, void *output, const void *input, size_t length)
{
    header_mask *self = (header_mask *)context;
    uint8_t mask[MASK_LENGTH];
    /* Only connection ids for load balancers would take more, and they are off. */
    assert(length <= MASK_LENGTH);
    skyhop_rs_mask(self->key, self->sample, mask);
    for (size_t i = 0; i < length; i++) {
        ((uint8_t *)output)[i] = ((const uint8_t *)input)[i] ^ mask[i];
    }
}

static int mask_setup(ptls_cipher_context_t *context, int is_encryption, const void *key)
{
    header_mask *self = (header_mask *)context;
    (void)is_encryption;
    self->super.do_dispose = mask_dispose;
    self->super.do_init = mask_init;
    self->super.do_transform = mask_transform;
    self->key = skyhop_rs_mask_key(key, self->super.algo->key_size);
    return self->key == NULL ? PTLS_ERROR_LIBRARY : 0;
}

static ptls_cipher_algorithm_t aes128mask = {
    "AES128-CTR", PTLS_AES128_KEY_SIZE, 1, PTLS_AES_IV_SIZE, sizeof(header_mask), mask_setup,
};

static ptls_cipher_algorithm_t aes256mask = {
    "AES256-CTR", PTLS_AES256_KEY_SIZE, 1, PTLS_AES_IV_SIZE, sizeof(header_mask), mask_setup,
};

static ptls_aead_algorithm_t aes128gcm = {
    .name = "AES128-GCM",
    .confidentiality_limit = PTLS_AESGCM_CONFIDENTIALITY_LIMIT,
    .integrity_limit = PTLS_AESGCM_INTEGRITY_LIMIT,
    .ctr_cipher = &aes128mask,
    .ecb_cipher = &ptls_minicrypto_aes128ecb,
    .key_size = PTLS_AES128_KEY_SIZE,
    .iv_size = PTLS_AESGCM_IV_SIZE,
    .tag_size = PTLS_AESGCM_TAG_SIZE,
    .context_size = sizeof(aead),
    .setup_crypto = aead_setup,
};

static ptls_aead_algorithm_t aes256gcm = {
    .name = "AES256-GCM",
    .confidentiality_limit = PTLS_AESGCM_CONFIDENTIALITY_LIMIT,
    .integrity_limit = PTLS_AESGCM_INTEGRITY_LIMIT,
    .ctr_cipher = &aes256mask,
    .ecb_cipher = &ptls_minicrypto_aes256ecb,
    .key_size = PTLS_AES256_KEY_SIZE,
    .iv_size = PTLS_AESGCM_IV_SIZE,
    .tag_size = PTLS_AESGCM_TAG_SIZE,
    .context_size = sizeof(aead),
    .setup_crypto = aead_setup,
};

static ptls_cipher_suite_t aes128gcmsha256 = {.id = PTLS_CIPHER_SUITE_AES_128_GCM_SHA256,
                                              .name = PTLS_CIPHER_SUITE_NAME_AES_128_GCM_SHA256,
                                              .aead = &aes128gcm,
                                              .hash = &ptls_minicrypto_sha256};

static ptls_cipher_suite_t aes256gcmsha384 = {.id = PTLS_CIPHER_SUITE_AES_256_GCM_SHA384,
                                              .name = PTLS_CIPHER_SUITE_NAME_AES_256_GCM_SHA384,
                                              .aead = &aes256gcm,
                                              .hash = &ptls_minicrypto_sha384};

void skyhop_register_ciphers(void)
{
    uECC_set_rng(random_for_ecc);
    picoquic_tls_api_init();
    picoquic_register_ciphersuite(&aes128gcmsha256, 1);
    picoquic_register_ciphersuite(&aes256gcmsha384, 1);
}
