/** Built programs started by tests. They start three times as fast as the sources, and they are what users run. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../scripts/paths.ts';

/**
 * Returns the path of a built program. The literal also declares which program a test file reaches
 * (test/runner/importGraph.ts).
 * @param path such as `dist/engine.js`
 */
export function builtProgram(path: `dist/${string}.js`): string {
	const program = join(root, path);
	if (!existsSync(program)) throw new Error(`There is no ${path}: build the programs with npm run build.`);
	return program;
}

/** Folder of the reward host programs, as `rewardHostFolder()` returns it in a built program. */
export function builtHostFolder(): string {
	return dirname(builtProgram('dist/rewardHost.js'));
}
