import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';

/** Writes a pure Python wheel that pip and uv can install. @returns its path */
export async function writeWheel(
	folder: string,
	name: string,
	version: string,
	files: Readonly<Record<string, string | Buffer>>,
): Promise<string> {
	const info = `${name}-${version}.dist-info`;
	const all: Record<string, string | Buffer> = {
		...files,
		[`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`,
		[`${info}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
	};
	all[`${info}/RECORD`] = [...Object.keys(all), `${info}/RECORD`].map((path) => `${path},,\n`).join('');
	const path = join(folder, `${name}-${version}-py3-none-any.whl`);
	await writeFile(path, zip(all));
	return path;
}

/** Builds a zip archive (PKWARE's APPNOTE, 4.3). */
function zip(files: Readonly<Record<string, string | Buffer>>): Buffer {
	const bodies: Buffer[] = [];
	const directory: Buffer[] = [];
	let offset = 0;
	for (const [path, content] of Object.entries(files)) {
		const data = Buffer.from(content);
		const packed = deflateRawSync(data);
		const name = Buffer.from(path);
		// Version needed, flags, method 8, time, date, checksum, sizes, name length, no extra field.
		const common = Buffer.alloc(26);
		common.writeUInt16LE(20, 0);
		common.writeUInt16LE(8, 4);
		common.writeUInt16LE(0x5a21, 8);
		common.writeUInt32LE(crc32(data), 10);
		common.writeUInt32LE(packed.length, 14);
		common.writeUInt32LE(data.length, 18);
		common.writeUInt16LE(name.length, 22);
		const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, name, packed]);
		const rest = Buffer.alloc(14);
		rest.writeUInt32LE((0o100644 << 16) >>> 0, 6);
		rest.writeUInt32LE(offset, 10);
		directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x03', 'latin1'), common, rest, name]));
		bodies.push(local);
		offset += local.length;
	}
	const index = Buffer.concat(directory);
	const end = Buffer.alloc(22);
	end.write('PK\x05\x06', 0, 'latin1');
	end.writeUInt16LE(directory.length, 8);
	end.writeUInt16LE(directory.length, 10);
	end.writeUInt32LE(index.length, 12);
	end.writeUInt32LE(offset, 16);
	return Buffer.concat([...bodies, index, end]);
}

/** The parts of torch that are queried after installation. */
export const tinyTorch = `
__version__ = "2.13.0+cpu"

class version:
    cuda = None
    hip = None

class cuda:
    @staticmethod
    def get_arch_list(): return []
    @staticmethod
    def is_available(): return False

class backends:
    class mps:
        @staticmethod
        def is_available(): return False

def get_num_threads(): return 2

class ones:
    def __init__(self, n): self.n = n
    def sum(self): return self
    def item(self): return float(self.n)
`;

export const tinyTrl = 'GRPOTrainer = GRPOConfig = SFTTrainer = object\n';
