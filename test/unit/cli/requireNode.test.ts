import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireNode } from '../../../src/cli/requireNode.ts';

test('a Node version that cannot complete a verb is rejected with one message; read-only verbs still work', () => {
	for (const verb of ['run', 'resume', 'pipeline', 'verify', 'search', 'slurm']) {
		assert.throws(() => requireNode(verb, '20.20.2'), {
			...{ reason: 'version', action: /^Install a newer version of Node/ },
			message: /^reasoning-lab \w+ requires Node 22\.18 or later, but this is Node 20\.20\.2 \(/,
		});
		requireNode(verb, '22.18.0');
		requireNode(verb, '24.0.1');
	}
	for (const verb of ['help', 'status', 'inspect', 'stop']) requireNode(verb, '20.20.2');
});
