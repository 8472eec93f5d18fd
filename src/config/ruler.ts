/** The kind of `[storage.*] RULER`: how the size of a unit is found. */

import { z } from 'zod';
import { type Ruler, rulerText } from '../layout/index.ts';
import { type ValueType, valueTypeOf } from './kinds.ts';

/** A name with its namespace (xattr(7)): at most 255 bytes, and no `=`, which getfattr prints behind it. */
const attribute = /^[a-z]+\.[\x21-\x3c\x3e-\x7e]{1,240}$/;

export const ruler: ValueType<Ruler> = valueTypeOf(
  z.string().transform((text, context): Ruler => {
    const written = text.trim();
    if (written.toLowerCase() === 'walk') return { by: 'walk' };
    const name = /^xattr:(.*)$/i.exec(written)?.[1]?.trim();
    if (name !== undefined && attribute.test(name)) return { by: 'xattr', name };
    context.addIssue(name === undefined ? 'not a known way to measure' : 'not the name of an attribute');
    return z.NEVER;
  }),
  'Write walk, or xattr:NAME with the namespace in the name, such as xattr:ceph.dir.rbytes',
  rulerText,
);
