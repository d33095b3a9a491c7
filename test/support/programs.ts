/** The built programs that tests start. They start in a third of the time that the sources take, and are what people run. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../scripts/paths.ts';

/**
 * Path of a built program. The literal also says which program the tests of a file reach (test/runner/importGraph.ts).
 * @param path as `dist/engine.js`
 */
export function builtProgram(path: `dist/${string}.js`): string {
	const program = join(root, path);
	if (!existsSync(program)) throw new Error(`There is no ${path}: build the programs with npm run build.`);
	return program;
}

/** Folder of the programs of reward hosts, as `rewardHostFolder()` has it in a built program. */
export function builtHostFolder(): string {
	return dirname(builtProgram('dist/rewardHost.js'));
}
