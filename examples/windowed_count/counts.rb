# frozen_string_literal: true

require "json"
require "pg"
require_relative "windows"

# The tables of schema.sql, with its own connection.
#
#   counts = Counts.new("postgresql:///site")
#   counts.add(batch, node)
#
# A batch's counts and the partition's progress are written in one transaction: after a crash both
# are there, or neither.
class Counts
  BEGIN_WITH = <<~SQL
    INSERT INTO progress VALUES ($1, 0, 0) ON CONFLICT DO NOTHING
  SQL

  # Locks the row. If two processes have the same partition, because one doesn't know yet that it
  # was revoked, they write one after the other, and the second sees what the first has done.
  PROGRESS = <<~SQL
    SELECT next_offset, newest FROM progress WHERE partition = $1 FOR UPDATE
  SQL

  ADD = <<~SQL
    INSERT INTO page_views AS stored (partition, page, minute, views, late)
    SELECT $1, page, to_timestamp(minute / 1000), views, late
    FROM json_to_recordset($2) AS fresh(page text, minute bigint, views bigint, late bigint)
    ON CONFLICT (partition, page, minute) DO UPDATE
      SET views = stored.views + excluded.views, late = stored.late + excluded.late
  SQL

  ADVANCE = <<~SQL
    UPDATE progress SET next_offset = $2, newest = $3 WHERE partition = $1
  SQL

  def initialize(url)
    @url = url
    connect
  end

  # Waits for a database that is away, as in ../json_to_postgres.
  def add(batch, node)
    connect unless connected?
    @connection.transaction { count(batch) }
  rescue PG::Error
    raise if connected? || node.wait(1)

    retry
  end

  private

  # Not PG::Connection#reset: where the server refuses it, the connection is finished for good.
  def connect
    @connection.finish unless @connection.nil? || @connection.finished?
    @connection = PG.connect(@url)
  end

  def connected? = !@connection.finished? && @connection.status == PG::CONNECTION_OK

  def count(batch)
    next_offset, newest = progress(batch.partition)
    windows = Windows.new(newest)
    # Not batch.each: it ends early if the partition is revoked, but `save` stores the batch's end.
    batch.messages.each { |message| view(message, windows) if message.offset >= next_offset }
    save(batch, windows) if batch.last_offset >= next_offset
  end

  def progress(partition)
    @connection.exec_params(BEGIN_WITH, [partition])
    @connection.exec_params(PROGRESS, [partition]).values.first.map { |value| Integer(value) }
  end

  def view(message, windows)
    view = JSON.parse(message.payload)
    windows.add(view.fetch("page"), view.fetch("at"))
  end

  def save(batch, windows)
    @connection.exec_params(ADD, [batch.partition, JSON.generate(windows.rows)])
    @connection.exec_params(ADVANCE, [batch.partition, batch.last_offset + 1, windows.newest])
  end
end
