/** Objects that the description of the API has under a name of their own. */

import { z } from 'zod';

/** A name, perhaps a description, and the fields. */
type Named<Shape extends z.ZodRawShape> =
  | readonly [id: string, shape: Shape]
  | readonly [id: string, description: string, shape: Shape];

/** Makes an object that has this name and description in the description of the API. */
export function component<Shape extends z.ZodRawShape>(...named: Named<Shape>): z.ZodObject<Shape> {
  const { shape, meta } = partsOf(named);
  return z.object(shape).meta(meta);
}

/** Makes one as `component` does that may have no other fields. */
export function strictComponent<Shape extends z.ZodRawShape>(
  ...named: Named<Shape>
): z.ZodObject<Shape, z.core.$strict> {
  const { shape, meta } = partsOf(named);
  return z.strictObject(shape).meta(meta);
}

function partsOf<Shape extends z.ZodRawShape>(named: Named<Shape>) {
  if (named.length === 2) return { shape: named[1], meta: { id: named[0] } };
  const [id, description, shape] = named;
  return { shape, meta: { id, description } };
}
