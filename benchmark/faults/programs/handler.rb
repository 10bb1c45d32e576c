# frozen_string_literal: true

require_relative "../../server/programs/worker_app"

# What a consumer does with a message, the same in each server: it reports the payload. The payload
# "poison" then kills its process, whenever it is handled. "hang" never returns, but the first time
# only: as with a lock that another process has released meanwhile.
#
#   Handler.call(message.payload)
#   Handler.settings                 # librdkafka's, for this run
module Handler
  class << self
    def wish(name) = WorkerApp::WISHES.fetch(name)
    def settings = wish("kafka").compact

    def call(payload)
      WorkerApp.report(payload)
      Process.kill(:KILL, Process.pid) if payload == "poison"
      WorkerApp.idle(WorkerApp::DAY) while payload == "hang" && first?
    end

    private

    # Returns true for the first process that asks.
    def first?
      @first ||= File.open("#{WorkerApp::FOLDER}/hung", File::WRONLY | File::CREAT | File::EXCL)
    rescue Errno::EEXIST
      false
    end
  end
end
