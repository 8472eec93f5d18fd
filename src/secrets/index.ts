/**
 * Secrets at rest: encrypted with the newest of the installation's keys, and read with whichever of them it
 * was.
 *
 * A sealed secret is bound to what it is for, so that nobody who can write to the store gets one secret used
 * in the place of another. Losing all keys loses the secrets, and nothing else.
 */

export { type SecretKeys, secretKeysOf } from './keys.ts';
