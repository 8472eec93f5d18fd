/** Two fields of requests, grants and allowances: how much more, and until when. */

import { Field, SizeField } from './field.tsx';
import type { TypedMore } from './typed-more.ts';

interface MoreFieldsProps {
  readonly more: TypedMore;
  readonly onChange: (more: TypedMore) => void;
}

export function MoreFields({ more, onChange }: MoreFieldsProps) {
  return (
    <>
      <SizeField label="How much more" value={more.size} onInput={size => onChange({ ...more, size })} />
      <Field
        label="Until (last day)"
        type="date"
        value={more.lastDay}
        onInput={lastDay => onChange({ ...more, lastDay })}
        required
      />
    </>
  );
}
