import { Writable } from 'node:stream';

/** A stream that keeps what is written to it. */
export class Written {
	text = '';
	readonly stream = Object.assign(
		new Writable({
			decodeStrings: false,
			write: (chunk: unknown, _encoding, done) => {
				this.text += String(chunk);
				done();
			},
		}),
		{ isTTY: false, columns: 80 },
	) as unknown as NodeJS.WriteStream;
}
