// Registers run folders: <registry home> <run folder>...
import { RunRegistry } from '../../../src/runs/runRegistry.ts';

const [home = '', ...folders] = process.argv.slice(2);
const registry = new RunRegistry(home);
await Promise.all(folders.map((folder) => registry.add(folder)));
