/** Sizes on the wire. */

import { z } from 'zod';

export const bytes = z.number().int();
