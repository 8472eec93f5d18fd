import { createHash } from 'node:crypto';

/** Gives bytes that nothing compresses, the same for the same name. */
export function noise(name: string, bytes: number): Buffer {
  const parts = Array.from({ length: Math.ceil(bytes / 64) }, (_, index) =>
    createHash('sha512').update(`${name} ${index}`).digest(),
  );
  return Buffer.concat(parts).subarray(0, bytes);
}
