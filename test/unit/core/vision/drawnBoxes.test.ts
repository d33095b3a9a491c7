import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawnBoxes } from '../../../../src/core/vision/drawnBoxes.ts';
import { pictureSize } from '../../../../src/core/vision/pictureSize.ts';
import { pngOf } from '../../../support/pictures.ts';

const picture = { width: 200, height: 100 };
const settings = { threshold: 0.5, unit: 'pixels' } as const;

test('boxes are drawn as fractions of the picture, gold boxes first', () => {
	const answer = '[{"bbox_2d": [0, 0, 100, 50], "label": "dog"}, {"bbox_2d": [150, 50, 200, 100], "label": "cat"}]';
	assert.deepEqual(drawnBoxes(answer, [[0, 0, 100, 40]], settings, picture), [
		{ kind: 'gold', left: 0, top: 0, width: 0.5, height: 0.4, label: null, confidence: null, iou: null },
		{ kind: 'matched', left: 0, top: 0, width: 0.5, height: 0.5, label: 'dog', confidence: null, iou: 0.8 },
		{ kind: 'unmatched', left: 0.75, top: 0.5, width: 0.25, height: 0.5, label: 'cat', confidence: null, iou: null },
	]);
});

test('coordinates can be thousandths or fractions', () => {
	for (const [unit, corners] of [
		['thousandths', [500, 250, 1000, 500]],
		['fractions', [0.5, 0.25, 1, 0.5]],
	] as const) {
		const [box] = drawnBoxes(null, [corners], { ...settings, unit }, picture);
		assert.deepEqual([box?.left, box?.top, box?.width, box?.height], [0.5, 0.25, 0.5, 0.25]);
	}
});

test("a model's boxes are clipped to the picture, and omitted if they lie outside it", () => {
	const [clipped, ...rest] = drawnBoxes(
		'[[-50, -50, 900000, 50], [300, 0, 400, 50], [9, 9, 1, 1]]',
		null,
		settings,
		picture,
	);
	assert.deepEqual([clipped?.left, clipped?.top, clipped?.width, clipped?.height], [0, 0, 1, 0.5]);
	assert.deepEqual(rest, []);
	assert.deepEqual(drawnBoxes('no boxes here', 'nor here', settings, picture), []);
});

test('the size of a picture is read without decoding it', () => {
	assert.deepEqual(pictureSize(pngOf(70_000, 3)), { type: 'image/png', width: 70_000, height: 3 });
	const jpeg = Uint8Array.from([0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xc0, 0, 11, 8, 0, 30, 0, 40, 1]);
	assert.deepEqual(pictureSize(jpeg), { type: 'image/jpeg', width: 40, height: 30 });
	for (const content of [
		[],
		[0xff, 0xd8],
		[...jpeg.slice(0, 12)],
		[0xff, 0xd8, 0xff, 0xda, 0, 2, 0, 0, 0, 0, 0, 0, 0],
		[0xff, 0xd8, ...new Array<number>(40).fill(0)],
		[...Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
		[...Buffer.from('GIF89a\x01\x00\x01\x00')],
		[...pngOf(3, 3).slice(0, 20)],
	]) {
		assert.equal(pictureSize(Uint8Array.from(content)), null);
	}
});
