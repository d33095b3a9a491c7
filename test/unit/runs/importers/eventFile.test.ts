import assert from 'node:assert/strict';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import type { Frame } from '../../../../src/files/frame.ts';
import { OpenedFile } from '../../../../src/files/openedFile.ts';
import { EventFile } from '../../../../src/runs/importers/eventFile.ts';
import { mutations } from '../../../support/fileMutations.ts';
import { eventBytes, eventFile, framed } from './eventBytes.ts';
import { madeRun } from './madeRun.ts';

const name = 'events.out.tfevents.1.host.1.0';
const scalar = (step: number, tag: string, value: number) => ({ step, tag, value });

describe('event files', () => {
	it('are read per value: scalars become metrics, one row per step, and texts become samples', async () => {
		const { run, train, metrics, faults } = await madeRun({
			[name]: eventFile([
				scalar(1, 'loss', 0.5),
				scalar(1, 'lr', 1),
				scalar(2, 'loss', Number.NaN),
				{ step: 2, tag: 'samples/text_summary', text: 'hello' },
				{ step: 2, tag: 'args/text_summary', text: '{"lr": 1}' },
				scalar(2, 'lr', 0.25),
			]),
		});
		assert.equal(run.format, 'tensorboard');
		assert.deepEqual(faults, []);
		assert.deepEqual(
			metrics.map(({ step, time, values }) => [step, time, values]),
			[
				[1, 1_760_000_000, { loss: 0.5, lr: 1 }],
				[2, 1_760_000_000, { lr: 0.25 }],
			],
		);
		assert.deepEqual(
			train.map(({ step, prompt, completion, reward }) => [step, prompt, completion, reward]),
			[[2, 'samples', 'hello', null]],
		);
	});

	it('from several writers form one run, but those in other folders do not belong to it', async () => {
		const { metrics } = await madeRun({
			[`train/${name}`]: eventFile([scalar(1, 'a', 1), scalar(3, 'a', 3)]),
			[`validation/${name}`]: eventFile([scalar(2, 'b', 2), scalar(3, 'b', 4)]),
			[`other/${name}`]: eventFile([scalar(9, 'c', 9)]),
		});
		assert.deepEqual(
			metrics.map(({ step, values }) => [step, values]),
			[
				[1, { a: 1 }],
				[2, { b: 2 }],
				[3, { a: 3, b: 4 }],
			],
		);
	});

	it('keep the later value if a restart repeats steps', async () => {
		const { metrics } = await madeRun({
			[name]: eventFile([scalar(1, 'a', 1), scalar(2, 'a', 2), scalar(1, 'a', 10), scalar(2, 'a', 20)]),
		});
		assert.deepEqual(
			metrics.map(({ step, values }) => [step, values.a]),
			[
				[1, 10],
				[2, 20],
			],
		);
	});

	it('lose only the event that does not match its checksum', async () => {
		const [first, broken, last] = [scalar(1, 'a', 1), scalar(2, 'a', 2), scalar(3, 'a', 3)].map(eventBytes);
		assert.ok(first && broken && last);
		broken[20] = (broken[20] as number) ^ 1;
		const { metrics, faults } = await madeRun({ [name]: Buffer.concat([first, broken, last]) });
		assert.deepEqual(
			metrics.map(({ step }) => step),
			[1, 3],
		);
		assert.deepEqual(faults, [{ file: name, line: null, message: 'event 2 does not match its checksum', records: 1 }]);
	});

	it('end with an error at a length that does not match its checksum', async () => {
		const [first, broken, last] = [scalar(1, 'a', 1), scalar(2, 'a', 2), scalar(3, 'a', 3)].map(eventBytes);
		assert.ok(first && broken && last);
		broken[3] = 0x7f;
		const { metrics, faults } = await madeRun({ [name]: Buffer.concat([first, broken, last]) });
		assert.deepEqual(
			metrics.map(({ step }) => step),
			[1],
		);
		assert.match(faults[0]?.message ?? '', /the length of event 2 is unreadable/);
	});

	it('may be truncated and contain invalid messages', async () => {
		const whole = eventFile([scalar(1, 'a', 1), scalar(2, 'a', 2)]);
		for (let cut = 1; cut < 40; cut += 3) {
			const { metrics, faults } = await madeRun({ [name]: whole.subarray(0, whole.length - cut) });
			assert.equal(metrics.length, 1);
			assert.equal(faults.length, 1);
		}
		// A length beyond the message, an invalid wire type, and an unterminated number.
		const bad = [[0x2a, 0x7f, 0x01], [0x0f], Array.from({ length: 12 }, () => 0xff), [0x10, 0xff, 0xff, 0xff, 0xff]];
		const { metrics, faults } = await madeRun({
			[name]: Buffer.concat([...bad.map((bytes) => framed(Buffer.from(bytes))), eventBytes(scalar(5, 'a', 5))]),
		});
		assert.deepEqual(
			metrics.map(({ step }) => step),
			[5],
		);
		assert.equal(faults.length, bad.length);
	});
});

describe('events that are read together', () => {
	let folder = '';
	before(async () => {
		folder = await mkdtemp(join(tmpdir(), 'event-file-'));
	});
	after(() => rm(folder, { recursive: true, force: true }));

	/** Reads a file in two passes; the second starts at the last frame of the first. */
	async function framesOf(bytes: Buffer, together: number): Promise<Frame[]> {
		await writeFile(join(folder, name), bytes);
		const file = new EventFile(await OpenedFile.open(folder, name), together);
		const frames: Frame[] = [];
		for await (const frame of file.frames()) {
			frames.push(frame);
			if (frames.length === 2) break;
		}
		const last = frames.at(-1);
		if (last !== undefined && last.length > 0)
			for await (const frame of file.frames(undefined, last)) frames.push(frame);
		await file.close();
		return frames;
	}

	it('end with an error where a file was truncated after it was opened', async () => {
		const bytes = eventFile(Array.from({ length: 3 }, (_, step) => ({ step, tag: 'text', text: 'x'.repeat(1 << 20) })));
		await writeFile(join(folder, name), bytes);
		const file = new EventFile(await OpenedFile.open(folder, name), 7);
		await truncate(join(folder, name), bytes.length - 1000);
		const frames: Frame[] = [];
		for await (const frame of file.frames()) frames.push(frame);
		await file.close();
		assert.deepEqual(
			frames.map(({ records, fault, torn }) => [records.length, fault, torn]),
			[
				[2, null, false],
				[0, 'truncated within an event', true],
			],
		);
	});

	it('have the same values and faults as if read one by one, even in damaged files', async () => {
		const random = Random.of('events together', 1);
		const events = Array.from({ length: 40 }, (_, i) =>
			i % 7 === 3
				? { step: i, tag: 'text', text: 'é'.repeat(i) }
				: { step: i >> 1, tag: `tag ${i % 5}`, value: i === 9 ? Number.NaN : i / 4 },
		);
		let faulty = 0;
		for (let i = 0; i < 150; i++) {
			const bytes = i === 0 ? eventFile(events) : random.pick(mutations).apply(eventFile(events), random, []);
			const single = await framesOf(bytes, 1);
			const joined = await framesOf(bytes, 7);
			const end = ({ offset, length, number }: Frame) => [offset + length, number];
			const records = (frames: readonly Frame[]) => frames.flatMap((frame) => frame.records);
			const faults = (frames: readonly Frame[]) => frames.filter(({ fault }) => fault !== null);
			assert.deepEqual(records(joined), records(single));
			assert.deepEqual(faults(joined), faults(single));
			assert.deepEqual(joined.slice(-1).map(end), single.slice(-1).map(end));
			if (i === 0) assert.ok(joined.length < single.length / 5);
			if (faults(single).length > 0) faulty++;
		}
		assert.ok(faulty > 50, `${faulty} files with faults`);
	});
});
