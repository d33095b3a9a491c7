// @reaches trainer
import { testMemoryEstimate } from '../support/memoryEstimate.ts';

/** Also covered by other cases; tested in test/acceptance/memoryEstimate.test.ts. */
const elsewhere = ['activations with sampling', 'bfloat16'];

testMemoryEstimate((name) => !elsewhere.includes(name));
