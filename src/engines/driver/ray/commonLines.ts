import type { FileHandle } from 'node:fs/promises';
import { Failure } from '../../../base/failure.ts';
import { parseLine } from '../../../files/jsonLines.ts';
import { readAt } from '../../../files/readAt.ts';
import { openRegular } from '../../../files/safeFile.ts';

export interface CommonLines {
	/** Number of complete lines shared at the start of both files. */
	readonly lines: number;
	/** Step of the last shared line, or -1 if there are none. */
	readonly step: number;
	/** Whether `mine` has additional lines. */
	readonly more: boolean;
}

const portion = 1 << 20;
const newline = 0x0a;

async function openOrNull(root: string, name: string): Promise<FileHandle | null> {
	return openRegular(root, name).catch((error: unknown) => {
		if (error instanceof Failure && error.reason === 'missing') return null;
		throw error;
	});
}

/** Returns the length of the byte-identical prefix of two line-based files. Treats a missing file as empty. */
export async function commonLines(mine: string, theirs: string, name: string): Promise<CommonLines> {
	const handles = [await openOrNull(mine, name), await openOrNull(theirs, name)] as const;
	try {
		const [own, other] = handles;
		if (own === null) return { lines: 0, step: -1, more: false };
		const { size } = await own.stat();
		if (other === null) return { lines: 0, step: -1, more: size > 0 };
		let position = 0;
		let lines = 0;
		let end = 0;
		let last: Uint8Array<ArrayBufferLike> = new Uint8Array(0);
		let pending: Uint8Array<ArrayBufferLike> = new Uint8Array(0);
		for (let same = true; same; ) {
			const [a, b] = await Promise.all([readAt(own, position, portion), readAt(other, position, portion)]);
			const length = Math.min(a.length, b.length);
			let equal = 0;
			if (a.compare(b, 0, length, 0, length) === 0) equal = length;
			else while (a[equal] === b[equal]) equal++;
			let start = 0;
			for (let at = a.indexOf(newline); at !== -1 && at < equal; at = a.indexOf(newline, start)) {
				last = pending.length === 0 ? a.subarray(start, at) : Buffer.concat([pending, a.subarray(start, at)]);
				pending = new Uint8Array(0);
				start = at + 1;
				lines++;
				end = position + start;
			}
			last = Uint8Array.from(last);
			pending = Buffer.concat([pending, a.subarray(start, equal)]);
			position += equal;
			same = equal === portion;
		}
		const value = parseLine(last) as { readonly step?: unknown } | undefined;
		return { lines, step: typeof value?.step === 'number' ? value.step : -1, more: size > end };
	} finally {
		for (const handle of handles) await handle?.close();
	}
}
