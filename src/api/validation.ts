/**
 * Values held against their schemas, a slice at a time.
 *
 * A schema looks at a list in one step, however long it is, and tells each of its faults. So whatever holds
 * lists is looked at without what is in it, and then its fields and entries one after the other, as far as
 * they hold lists, too.
 */

import { z } from 'zod';
import { type Work, workInSlices } from '../slices.ts';

/** Called with each fault, by its path. */
export type OnIssue = (path: readonly PropertyKey[], message: string) => void;

type Schema = z.core.$ZodType;
type Path = readonly PropertyKey[];

/**
 * Gives the value by its schema; nothing that means anything where it has faults. `words` is what zod takes
 * as `error`.
 */
export function validated(
  schema: Schema,
  value: unknown,
  { onIssue, words }: { readonly onIssue: OnIssue; readonly words: z.core.$ZodErrorMap },
): Promise<unknown> {
  /** In one step. */
  const look = (looked: Schema, at: unknown, path: Path): unknown => {
    const result = z.safeParse(looked, at, { error: words });
    if (result.success) return result.data;
    for (const issue of result.error.issues) onIssue([...path, ...issue.path], issue.message);
    return undefined;
  };

  function* whole(looked: Schema, at: unknown, path: Path): Work<unknown> {
    const def = defOf(looked);
    if (!hasLists(looked) || at === undefined || at === null) return look(looked, at, path);
    if ('innerType' in def) return yield* whole(def.innerType, at, path);
    if (def.type === 'union') {
      const meant = def.options.find(option => z.safeParse(shellOf(option), at).success);
      return meant === undefined ? look(shellOf(looked), at, path) : yield* whole(meant, at, path);
    }
    if (def.type === 'object' && isObject(at)) return yield* fields(looked, def, at, path);
    const found = look(shellOf(looked), at, path);
    if (def.type !== 'array' || !Array.isArray(found)) return undefined;
    const entries: unknown[] = [];
    for (const [index, entry] of found.entries()) {
      entries.push(yield* whole(def.element, entry, [...path, index]));
      yield;
    }
    return entries;
  }

  function* fields(
    looked: Schema,
    { shape }: z.core.$ZodObjectDef,
    at: Readonly<Record<string, unknown>>,
    path: Path,
  ): Work<unknown> {
    const found: Record<string, unknown> = {};
    for (const [name, field] of Object.entries(shape)) {
      const value = yield* whole(field, Object.hasOwn(at, name) ? at[name] : undefined, [...path, name]);
      if (value !== undefined) found[name] = value;
    }
    look(shellOf(looked), at, path);
    return found;
  }

  return workInSlices(whole(schema, value, []));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const listed = new WeakMap<Schema, boolean>();

function hasLists(schema: Schema): boolean {
  const known = listed.get(schema);
  if (known !== undefined) return known;
  const def = defOf(schema);
  const found = def.type === 'array' || partsOf(def).some(hasLists);
  listed.set(schema, found);
  return found;
}

const shells = new WeakMap<Schema, Schema>();

/** The same, but that what is in lists and fields may be anything. */
function shellOf(schema: Schema): Schema {
  const known = shells.get(schema);
  if (known !== undefined) return known;
  const shell = hasLists(schema) ? emptied(schema, defOf(schema)) : schema;
  shells.set(schema, shell);
  return shell;
}

function emptied(schema: Schema, def: Def): Schema {
  const as = (other: Def) => z.core.clone(schema, other);
  if (def.type === 'array') return as({ ...def, element: z.unknown() });
  if (def.type === 'union') return as({ ...def, options: def.options.map(shellOf) });
  if (def.type === 'object') {
    const shape = Object.keys(def.shape).map(name => [name, z.unknown().optional()]);
    return as({ ...def, shape: Object.fromEntries(shape) });
  }
  return 'innerType' in def ? as({ ...def, innerType: shellOf(def.innerType) }) : schema;
}

type Def =
  | z.core.$ZodArrayDef
  | z.core.$ZodObjectDef
  | z.core.$ZodUnionDef
  | z.core.$ZodOptionalDef
  | z.core.$ZodNullableDef
  | z.core.$ZodDefaultDef
  | z.core.$ZodReadonlyDef
  | z.core.$ZodStringDef;

/** zod tells its schemas apart by `type`; those that are none of these hold no lists here. */
function defOf(schema: Schema): Def {
  return schema._zod.def as Def;
}

function partsOf(def: Def): readonly Schema[] {
  if (def.type === 'object') return Object.values(def.shape);
  if (def.type === 'union') return def.options;
  return 'innerType' in def ? [def.innerType] : [];
}
