// Starts the small engine in the run folder given as its argument, prints its pid, and exits.
import { join } from 'node:path';
import { launchEngine } from '../../../src/runs/launchEngine.ts';

const engine = join(import.meta.dirname, 'smallEngine.ts');
const { pid } = await launchEngine(process.argv[2] ?? '', { engine });
console.log(pid);
