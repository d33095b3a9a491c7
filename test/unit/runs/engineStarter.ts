// Starts the small engine in the run folder of its argument, says its process id, and ends.
import { join } from 'node:path';
import { launchEngine } from '../../../src/runs/launchEngine.ts';

const engine = join(import.meta.dirname, 'smallEngine.ts');
const { pid } = await launchEngine(process.argv[2] ?? '', { engine });
console.log(pid);
