import { parseBoundedJson } from '../base/boundedJson.ts';
import { zipLimits } from '../base/decodingLimits.ts';
import { Failure } from '../base/failure.ts';
import { ZipArchive } from '../files/zipArchive.ts';
import type { ZipMember } from '../files/zipMember.ts';

/** Reader for Inspect's `.eval` files: zip archives of `samples/ID_epoch_N.json` (inspect_ai/log/_recorders/eval.py). */

/**
 * Converts the samples in an `.eval` file to the text of a JSON Inspect log, with the parts of each sample that a
 * transcript shows. Work and memory are bounded, regardless of what the archive claims. Fails with `invalid` if it is
 * not an Inspect archive, and with `unsupported` if it is too large or compressed with a method that this Node.js
 * lacks.
 * @param name file name for messages
 */
export async function inspectArchiveText(bytes: Uint8Array, name: string): Promise<string> {
	const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const source = {
		size: data.length,
		read: async (offset: number, length: number) => data.subarray(offset, offset + length),
	};
	const archive = await ZipArchive.open(source);
	if (archive.damage !== null) {
		throw new Failure('invalid', `${name} is a damaged zip archive: ${archive.damage}.`, 'Copy it again.');
	}
	if (archive.members.length > zipLimits.entries) {
		throw tooLarge(name, `it has ${archive.members.length} entries, more than the limit of ${zipLimits.entries}`);
	}
	const samples = archive.members.filter((member) => /^samples\/[^/]+\.json$/.test(member.name));
	if (samples.length === 0) {
		throw new Failure('invalid', `${name} is a zip archive without Inspect samples.`, 'Open an .eval file.');
	}
	const texts: string[] = [];
	let left: number = zipLimits.decodedBytes;
	let characters = 0;
	for (const entry of samples) {
		const limit = Math.min(left, zipLimits.entryBytes);
		const decoded = await decodedMember(archive, entry, limit, name);
		left -= decoded.length;
		const text = sampleText(decoded, entry.name, name);
		characters += text.length + 1;
		if (characters > zipLimits.characters - 100) throw tooLarge(name, 'its conversations are larger than 32 MB');
		texts.push(text);
	}
	return `{"eval":{},"samples":[${texts.join(',')}]}`;
}

/** Returns the parts of a sample that a transcript shows, including model events without their repeated input. */
function sampleText(decoded: Buffer, entry: string, name: string): string {
	let sample: unknown;
	try {
		sample = parseBoundedJson(decoded.toString('utf8'));
	} catch (error) {
		throw new Failure('invalid', `Cannot read ${entry} in ${name}: ${(error as Error).message.slice(0, 200)}.`);
	}
	if (typeof sample !== 'object' || sample === null || Array.isArray(sample)) {
		throw new Failure('invalid', `${entry} in ${name} is not an Inspect sample.`);
	}
	const { id, epoch, input, messages, output, scores, error, attachments, events } = sample as Record<string, unknown>;
	const model = (Array.isArray(events) ? events : []).flatMap((event: unknown) => {
		const fields = (typeof event === 'object' && event !== null ? event : {}) as Record<string, unknown>;
		return fields.event === 'model' ? [{ event: 'model', output: fields.output, tools: fields.tools }] : [];
	});
	return JSON.stringify({ id, epoch, input, messages, output, scores, error, attachments, events: model });
}

async function decodedMember(archive: ZipArchive, member: ZipMember, limit: number, name: string): Promise<Buffer> {
	if (member.size > limit) throw tooLarge(name, `${member.name} has ${member.size} bytes`);
	try {
		return await archive.read(member, limit);
	} catch (error) {
		if (error instanceof Failure) throw error;
		throw new Failure(
			'invalid',
			`Cannot read ${member.name} in ${name}: it ${(error as Error).message}.`,
			'Copy the file again.',
		);
	}
}

function tooLarge(name: string, why: string): Failure {
	return new Failure(
		'unsupported',
		`${name} is too large: ${why}.`,
		'Export individual samples with "inspect log dump".',
	);
}
