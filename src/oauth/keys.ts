/** AES-256-GCM with keys derived by HKDF; each sealed text says which key it takes. */

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const cipher = 'aes-256-gcm';
const keyBytes = 32;
const idBytes = 6;
const nonceBytes = 12;
const tagBytes = 16;

export interface SecretKeys {
  /** With the newest key. `purpose` is what it is for, and has to be the same to open it. */
  seal(text: string, purpose: string): string;
  /** Null where no key opens it: sealed with another one, for another purpose, or no sealed text. */
  open(sealed: string, purpose: string): string | null;
  isNewest(sealed: string): boolean;
}

interface Key {
  readonly id: string;
  readonly bytes: Buffer;
}

/** `texts` are what keys are derived from: newest first, at least one, each of at least 32 characters. */
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

/** The id tells nothing of the key: it is derived beside it. */
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
