import { Failure } from '../base/failure.ts';
import { nodeIsNewEnough } from '../base/nodeVersion.ts';

/** Verbs that only read, stop, or print help and therefore also work with older Node versions. */
const readers: ReadonlySet<string> = new Set([
	...['help', 'version', 'status', 'stop', 'inspect', 'query', 'report', 'export', 'tree', 'transcript', 'doctor'],
]);

/** Fails with `version` if this Node is too old for the verb. Called before the verb creates a run folder. */
export function requireNode(verb: string, node: string = process.versions.node): void {
	if (readers.has(verb) || nodeIsNewEnough(node)) return;
	throw new Failure(
		'version',
		`reasoning-lab ${verb} requires Node 22.18 or later, but this is Node ${node} (${process.execPath}).`,
		'Install a newer version of Node, or use another installed version.',
	);
}
