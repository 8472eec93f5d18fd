/** What hooks that ask by socat do with a daemon that is away, slow, stopped or talks nonsense. */

import { testFaults } from './faults.ts';

testFaults('socat');
