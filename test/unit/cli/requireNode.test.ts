import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireNode } from '../../../src/cli/requireNode.ts';

test('a Node that cannot finish what a verb begins is refused in one sentence; those that read go on', () => {
	for (const verb of ['run', 'resume', 'pipeline', 'verify', 'search', 'slurm']) {
		assert.throws(() => requireNode(verb, '20.20.2'), {
			...{ reason: 'version', action: /^Install a newer Node/ },
			message: /^reasoning-lab \w+ needs Node 22\.18 or newer, and this is Node 20\.20\.2 \(/,
		});
		requireNode(verb, '22.18.0');
		requireNode(verb, '24.0.1');
	}
	for (const verb of ['help', 'status', 'inspect', 'stop']) requireNode(verb, '20.20.2');
});
