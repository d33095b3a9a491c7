import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Admission } from '../../../../src/search/serve/admission.ts';

test('the retry delay for rejected clients depends on the queue and request durations', async () => {
	let at = 0;
	const admission = new Admission(2, 8, () => at);
	const { signal } = new AbortController();
	assert.equal(admission.retryAfter, 5, 'no request has finished yet');
	const leave = await admission.enter(signal);
	at += 10_000;
	leave();
	assert.equal(admission.retryAfter, 5);
	await Promise.all([admission.enter(signal), admission.enter(signal)]);
	for (let i = 0; i < 5; i++) void admission.enter(signal).catch(() => undefined);
	assert.equal(admission.retryAfter, 30, 'five are waiting, two run at a time, ten seconds each');
	for (let i = 0; i < 3; i++) void admission.enter(signal).catch(() => undefined);
	assert.equal(admission.retryAfter, 45);
	await assert.rejects(admission.enter(signal), /8 are waiting/);
	admission.close();
});

test('Retry-After is between one second and one minute', async () => {
	let at = 0;
	const admission = new Admission(1, 8, () => at);
	const { signal } = new AbortController();
	(await admission.enter(signal))();
	assert.equal(admission.retryAfter, 1);
	for (let i = 0; i < 20; i++) {
		const leave = await admission.enter(signal);
		at += 3_600_000;
		leave();
	}
	assert.equal(admission.retryAfter, 60);
});
