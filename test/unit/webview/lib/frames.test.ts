import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Frames, whenShown } from '../../../../webview/lib/frames.ts';

/** Creates a fake browser that runs frames on demand. */
function browser() {
	const asked = new Map<number, FrameRequestCallback>();
	let last = 0;
	return {
		frames: new Frames({
			request: (callback) => {
				last += 1;
				asked.set(last, callback);
				return last;
			},
			cancel: (id) => asked.delete(id),
		}),
		/** @returns the number of requested callbacks */
		frame: (): number => {
			const all = [...asked.values()];
			asked.clear();
			for (const callback of all) callback(0);
			return all.length;
		},
	};
}

describe('animation frames', () => {
	it('run once per request, in order, unless canceled', () => {
		const { frames, frame } = browser();
		const drawn: string[] = [];
		frames.request(() => drawn.push('a'));
		const b = frames.request(() => drawn.push('b'));
		frames.request(() => drawn.push('c'));
		frames.cancel(b);
		assert.equal(frame(), 2);
		assert.equal(frame(), 0);
		assert.deepEqual(drawn, ['a', 'c']);
	});

	it('do not run while the page is hidden, and run once it is shown again', () => {
		const { frames, frame } = browser();
		const drawn: string[] = [];
		frames.request(() => drawn.push('before'));
		frames.shown = false;
		frames.request(() => drawn.push('meanwhile'));
		const gone = frames.request(() => drawn.push('cancelled'));
		assert.equal(frame(), 0);
		frames.cancel(gone);
		frames.shown = true;
		frames.shown = true;
		assert.equal(frame(), 2);
		assert.deepEqual(drawn, ['before', 'meanwhile']);
	});

	it('that are requested during a frame run in the next one', () => {
		const { frames, frame } = browser();
		let count = 0;
		const again = (): void => {
			count += 1;
			if (count < 3) frames.request(again);
		};
		frames.request(again);
		assert.deepEqual([frame(), frame(), frame(), frame(), count], [1, 1, 1, 0, 3]);
	});
});

it('changes to a hidden page are combined when it is shown', () => {
	const { frames, frame } = browser();
	const seen: string[][] = [];
	const update = whenShown<string>((changes) => seen.push([...changes]), frames);
	update(new Set(['a']));
	frames.shown = false;
	update(new Set(['b']));
	update(new Set(['c', 'b']));
	assert.deepEqual(seen, [['a']]);
	frames.shown = true;
	// Changes that arrive before the frame are still included.
	update(new Set(['d']));
	frame();
	update(new Set(['e']));
	assert.deepEqual(seen, [['a'], ['b', 'c', 'd'], ['e']]);
});
