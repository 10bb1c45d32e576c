# frozen_string_literal: true

require "skep/fork"

# Threads that restart in a forked child, which otherwise has only the thread that forked.
#
#   require "skep/threads"
#   mailer = Skep::Threads::Background.new("mailer") { |inbox| inbox.each { |mail| deliver(mail) } }
#   mailer.push(mail)
#   pool = Skep::Threads::Pool.new(5)
#   pool.run(orders) { |order| invoice(order) }   # => results, in order
#
# Background is one named thread with an Inbox, a queue with deadlines; Pool is a number of threads
# that share batches of jobs; SharedExclusiveLock lets some blocks of several threads run alone.
# They wait with deadlines, never poll, and kill no thread.
module Skep
  module Threads
  end
end

require "skep/threads/inbox"
require "skep/threads/background"
require "skep/threads/background/worker"
require "skep/threads/background/registry"
require "skep/threads/background/errors"
require "skep/threads/pool"
require "skep/threads/pool/errors"
require "skep/threads/pool/batch"
require "skep/threads/pool/worker"
require "skep/threads/pool/workers"
require "skep/threads/shared_exclusive_lock"
