import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RunningSearches } from '../../../src/search/runningSearches.ts';

test('the memory limit and Python of a request reach the environment of its search', (t) => {
	const searches = new RunningSearches({ engine: '/engine.js', client: 'test' }, () => undefined);
	t.after(() => searches.dispose());
	const { memoryMb, environment } = searches.context({
		keys: {},
		environment: { REASONING_LAB_PYTHON: '/python' },
		memoryMb: 300,
	});
	assert.deepEqual([memoryMb, environment?.REASONING_LAB_PYTHON], [300, '/python']);
	assert.ok(!('memoryMb' in searches.context({ keys: {}, environment: {} })));
});
