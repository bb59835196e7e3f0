// Everybody who can write a state, by name: each opens a file and returns a function that merges a patch into it.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { merge, sleep, write as writePlain } from './plain-writer.mjs';

const require = createRequire(import.meta.url);
const read = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));
const print = (state) => `${JSON.stringify(state, null, 2)}\n`;

function pipestate(durability) {
  return (file) => {
    const { writeStateSync } = require('../index.js');
    const options = { durability, lockTimeoutMs: 60_000 };
    return (patch) => writeStateSync(file, patch, options);
  };
}

/** write-file-atomic under proper-lockfile, whose synchronous form does not wait by itself. */
function locked(fsync) {
  return (file) => {
    const lockfile = require('proper-lockfile');
    const { sync: writeFileAtomic } = require('write-file-atomic');
    return (patch) => {
      let release;
      while (!release) {
        try {
          release = lockfile.lockSync(file);
        } catch (error) {
          if (error.code !== 'ELOCKED') throw error;
          sleep(1 + Math.random() * 4);
        }
      }
      try {
        writeFileAtomic(file, print(merge(read(file), patch)), { fsync });
      } finally {
        release();
      }
    };
  };
}

/** A row of JSON, in a transaction, with a write-ahead log. */
function sqlite(synchronous) {
  return (file) => {
    const Database = require('better-sqlite3');
    const database = new Database(`${file}.sqlite`, { timeout: 60_000 });
    database.pragma('journal_mode = WAL');
    database.pragma(`synchronous = ${synchronous}`);
    database.exec('CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY, json TEXT NOT NULL)');
    database.prepare('INSERT OR IGNORE INTO state VALUES (1, ?)').run(fs.readFileSync(file, 'utf8'));
    const get = database.prepare('SELECT json FROM state WHERE id = 1').pluck();
    const set = database.prepare('UPDATE state SET json = ? WHERE id = 1');
    const update = database.transaction((patch) => set.run(print(merge(JSON.parse(get.get()), patch))));
    return (patch) => update.immediate(patch);
  };
}

export const WRITERS = {
  'pipestate, fast': pipestate('fast'),
  'pipestate, durable': pipestate('durable'),
  'plain script': (file) => (patch) => writePlain(file, patch),
  'write-file-atomic + proper-lockfile, no fsync': locked(false),
  'write-file-atomic + proper-lockfile': locked(true),
  'better-sqlite3, WAL, NORMAL': sqlite('NORMAL'),
  'better-sqlite3, WAL, FULL': sqlite('FULL'),
  // These two take no lock: of two that write at once one loses.
  'atomically (no lock), no fsync': (file) => {
    let write;
    return async (patch) => {
      write ??= (await import('atomically')).writeFileSync;
      write(file, print(merge(read(file), patch)), { fsync: false });
    };
  },
  'steno (no lock, no fsync)': (file) => {
    let writer;
    return async (patch) => {
      writer ??= new (await import('steno')).Writer(file);
      await writer.write(print(merge(read(file), patch)));
    };
  },
};

/** What a writer has stored. */
export function stored(name, file) {
  if (!name.startsWith('better-sqlite3')) return read(file);
  const Database = require('better-sqlite3');
  const database = new Database(`${file}.sqlite`, { readonly: true });
  const text = database.prepare('SELECT json FROM state WHERE id = 1').pluck().get();
  database.close();
  return JSON.parse(text);
}
