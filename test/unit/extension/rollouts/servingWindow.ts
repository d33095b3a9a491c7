// Serves a checkpoint as a window does, then kills itself once it responds. Arguments: <engine> <checkpoint folder>.
import { ServedCheckpoint } from '../../../../src/runs/servedCheckpoint.ts';

const [engine = '', checkpoint = ''] = process.argv.slice(2);
const { client } = await ServedCheckpoint.open(checkpoint, { engine, name: 'test' });
await client.request('policy/generate', { prompts: ['1+2='], maxTokens: 2 });
process.kill(process.pid, 'SIGKILL');
