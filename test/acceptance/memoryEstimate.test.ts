/** Compares the memory estimate with measurements in all cases. */
// @reaches trainer
import { testMemoryEstimate } from '../support/memoryEstimate.ts';

testMemoryEstimate(() => true);
