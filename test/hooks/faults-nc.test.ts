/** What hooks that ask by nc do with a daemon that is away, slow, stopped or talks nonsense. */

import { testFaults } from './faults.ts';

testFaults('nc');
