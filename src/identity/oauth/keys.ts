/**
 * Encrypts texts with AES-256-GCM and keys derived by HKDF. Each sealed text begins with the id of its key.
 */

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const cipher = 'aes-256-gcm';
const keyBytes = 32;
const idBytes = 6;
const nonceBytes = 12;
const tagBytes = 16;

export interface SecretKeys {
  /** Encrypts with the newest key. `open` needs the same `purpose`. */
  seal(text: string, purpose: string): string;
  /** Decrypts; null: sealed with an unknown key or for another purpose, or not a sealed text. */
  open(sealed: string, purpose: string): string | null;
  isNewest(sealed: string): boolean;
}

interface Key {
  readonly id: string;
  readonly bytes: Buffer;
}

/** Derives keys from texts: newest first, at least one, each with at least 32 characters. */
export function secretKeysOf(texts: readonly string[]): SecretKeys {
  const keys = texts.map(derived);
  const [newest] = keys;
  if (newest === undefined) throw new TypeError('at least one key is needed');
  return {
    seal: (text, purpose) => sealed(newest, text, purpose),
    open: (text, purpose) => {
      const [id = '', body = ''] = text.split('.');
      for (const key of keys) {
        const found = key.id === id ? opened(key, body, purpose) : null;
        if (found !== null) return found;
      }
      return null;
    },
    isNewest: text => text.startsWith(`${newest.id}.`),
  };
}

/** Derives a key and its id independently, so that the id reveals nothing about the key. */
function derived(text: string): Key {
  const from = (info: string, length: number) => Buffer.from(hkdfSync('sha256', text, '', info, length));
  return {
    id: from('softquota: id of a key for secrets', idBytes).toString('base64url'),
    bytes: from('softquota: key for secrets', keyBytes),
  };
}

function sealed({ id, bytes }: Key, text: string, purpose: string): string {
  const nonce = randomBytes(nonceBytes);
  const sealing = createCipheriv(cipher, bytes, nonce, { authTagLength: tagBytes });
  sealing.setAAD(Buffer.from(purpose));
  const body = Buffer.concat([nonce, sealing.update(text, 'utf8'), sealing.final(), sealing.getAuthTag()]);
  return `${id}.${body.toString('base64url')}`;
}

function opened({ bytes }: Key, body: string, purpose: string): string | null {
  const whole = Buffer.from(body, 'base64url');
  if (whole.length < nonceBytes + tagBytes) return null;
  const opening = createDecipheriv(cipher, bytes, whole.subarray(0, nonceBytes), { authTagLength: tagBytes });
  opening.setAAD(Buffer.from(purpose));
  opening.setAuthTag(whole.subarray(-tagBytes));
  try {
    const text = Buffer.concat([opening.update(whole.subarray(nonceBytes, -tagBytes)), opening.final()]);
    return text.toString('utf8');
  } catch {
    return null;
  }
}
