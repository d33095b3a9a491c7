import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lazy } from '../../../src/extension/lazy.ts';

test('loads once, on first use, and disposes what it loaded', async () => {
	let loads = 0;
	let disposed = 0;
	const lazy = new Lazy(async () => ({ number: ++loads, dispose: () => disposed++ }));
	assert.deepEqual([lazy.isLoaded, loads], [false, 0]);
	const [a, b] = await Promise.all([lazy.get(), lazy.get()]);
	assert.equal(a, b);
	assert.deepEqual([lazy.isLoaded, loads, disposed], [true, 1, 0]);
	lazy.dispose();
	assert.equal(disposed, 1);
});

test('a failed load is retried', async () => {
	let loads = 0;
	const lazy = new Lazy(async () => {
		if (++loads === 1) throw new Error('not yet');
		return { dispose: () => {} };
	});
	await assert.rejects(lazy.get(), /not yet/);
	assert.equal(lazy.isLoaded, false);
	await lazy.get();
	assert.equal(loads, 2);
});

test('a value loaded after disposal is disposed immediately', async () => {
	let disposed = 0;
	const lazy = new Lazy(async () => ({ dispose: () => disposed++ }));
	const loading = lazy.get();
	lazy.dispose();
	await loading;
	assert.equal(disposed, 1);
});
