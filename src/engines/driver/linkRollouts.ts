import { Failure } from '../../base/failure.ts';
import type { RolloutBlock } from '../../protocol/trainerLink.ts';
import { ByteText } from './byteText.ts';
import { contract } from './trainerServer.ts';

/**
 * Builds a rollouts file from data received over the link. Token values are written with six decimals, which covers the
 * precision of f32. Throws if a block does not contain one number per token.
 */
export function rolloutsFile(blocks: readonly RolloutBlock[]): Uint8Array {
	const file = new ByteText();
	for (const { lines, tokens } of blocks) {
		const count = lines.reduce((sum, line) => sum + (line.tokens ?? 0), 0);
		if (count > 0 && tokens === undefined) throw broken('The rollouts have no token data.');
		const quoted = (tokens?.pieces ?? []).map((piece) => JSON.stringify(piece));
		const places = tokens === undefined ? [] : filled(Uint32Array, count, 'text', tokens.text);
		if (places.some((place) => place >= quoted.length)) throw broken('A token in the rollouts has no text.');
		const lists = Object.entries(tokens?.numbers ?? {}).map(
			([name, base64 = '']) => [name, filled(Float32Array, count, name, base64)] as const,
		);
		let start = 0;
		for (const { tokens: length, ...rest } of lines) {
			const line = JSON.stringify(rest);
			if (length === undefined) {
				file.write(`${line}\n`);
				continue;
			}
			const end = start + length;
			const texts: string[] = [];
			for (let i = start; i < end; i++) texts.push(quoted[places[i] as number] as string);
			file.write(`${line.slice(0, -1)},"tokens":{"text":[${texts.join(',')}]`);
			for (const [name, values] of lists) {
				file.write(`,"${name}":`);
				file.writeNumbers(values, start, end);
			}
			file.write('}}\n');
			start = end;
		}
	}
	return file.bytes;
}

function filled<T extends Uint32Array | Float32Array>(
	Numbers: new (length: number) => T,
	count: number,
	name: string,
	base64: string,
): T {
	const length = Buffer.byteLength(base64, 'base64');
	const wrong = () => broken(`The rollouts contain ${length / 4} values for "${name}" but ${count} tokens.`);
	// Check before allocating memory for the announced size.
	if (length !== 4 * count) throw wrong();
	const values = new Numbers(count);
	if (Buffer.from(values.buffer).write(base64, 'base64') !== length) throw wrong();
	return values;
}

function broken(message: string): Failure {
	return contract(new Failure('invalid', message));
}
