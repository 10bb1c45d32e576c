# frozen_string_literal: true

module Fakes
  # A worker of a map that has ended.
  EndedWorker = Struct.new(:chunks, :last_started, :exit_reason, :pid)
  stands_for EndedWorker, "Skep::Work::Map::WorkerHandle"
end
