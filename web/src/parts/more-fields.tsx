/** How much more, and until when: two fields that requests, grants and allowances have alike. */

import type { More } from '../api/request-queries.ts';
import { Field, SizeField, sizeIn } from './field.tsx';

/** As it is typed. */
export interface TypedMore {
  readonly size: string;
  /** `2027-01-31`. */
  readonly lastDay: string;
}

/** Null while it cannot be taken. The last day counts to its end, where the reader is. */
export function moreIn({ size, lastDay }: TypedMore): More | null {
  const bytes = sizeIn(size);
  const end = new Date(`${lastDay}T23:59:59`);
  if (bytes === null || bytes < 1 || Number.isNaN(end.getTime())) return null;
  return { bytes, until: end.toISOString() };
}

export interface MoreFieldsProps {
  readonly more: TypedMore;
  readonly onChange: (more: TypedMore) => void;
}

export function MoreFields({ more, onChange }: MoreFieldsProps) {
  return (
    <>
      <SizeField label="How much more" value={more.size} onInput={size => onChange({ ...more, size })} />
      <Field
        label="Last day"
        type="date"
        value={more.lastDay}
        onInput={lastDay => onChange({ ...more, lastDay })}
        required
      />
    </>
  );
}
